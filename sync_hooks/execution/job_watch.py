"""A workload under way: queued, starting or running, and what ends it from outside: its clock, a node, a stall.

The clock starts when all pods are there and their containers have started, and never stops for pods that vanish;
queued, suspended and unschedulable time does not count, nor does pulling an image. What never starts is given up. A
stall counts only if the measurement has been reading. Of a stall and the end of the time what came first counts,
whenever somebody looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sync_hooks.api.conditions import HARDWARE_FAILED, IN_PROGRESS, set_condition
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.observed import Pod
from sync_hooks.api.request import Request
from sync_hooks.api.results import FailedNode, Waiting
from sync_hooks.api.sync import Answer, GetObject, ListNodes, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339, seconds_between
from sync_hooks.execution.blame import STALLED, TIMED_OUT, ended_by_limit
from sync_hooks.execution.gone import Known, gone_nodes, node_reads, nodes_now
from sync_hooks.execution.job_answer import answer, enter, fail, group_nodes, keep_trying
from sync_hooks.execution.job_dependencies import missing_dependencies
from sync_hooks.execution.job_health import HARDWARE_FAILURE, NODE_FAILED, failed_nodes, hardware_failed
from sync_hooks.execution.job_launch import measurements
from sync_hooks.execution.job_places import note_places
from sync_hooks.execution.job_restart import begin_restart, is_saved, may_restart
from sync_hooks.execution.job_stall import find_stall
from sync_hooks.execution.mpirun import has_limit
from sync_hooks.execution.phase import (
    COMPLETION_PENDING,
    FAILED,
    HELD_UP,
    LAUNCHER_STARTING,
    PENDING,
    RUNNING,
    RUNS,
    STARTING,
    SUSPENDED,
    UNSCHEDULABLE,
    Workload,
    is_going,
    is_launcher,
    is_live,
    placed_at,
    under_way,
)
from sync_hooks.execution.planned import planned
from sync_hooks.execution.snapshot import pick
from sync_hooks.execution.starting import has_run
from sync_hooks.execution.unfailed import stuck
from sync_hooks.execution.waiting import (
    NOT_READ,
    OVERDUE,
    READ_FAILING,
    is_overdue,
    next_look,
    wait,
    wait_within,
    waited,
)

DEFAULT_TIMEOUT_SECONDS = 24 * 3600
POLL_SECONDS = 15  # at first: pods tell no hook that they start, only their TrainJob does, later
RUNNING_POLL_SECONDS = 60
QUEUED_POLL_SECONDS = 300  # the TrainJob itself tells when it is let go; thousands may be queued
UNSCHEDULABLE_GRACE_SECONDS = 300  # schedulers need a while; before that it is no news
EARLY = {
    UNSCHEDULABLE: (UNSCHEDULABLE_GRACE_SECONDS, "the workload waits to be scheduled"),
    STARTING: (30, "the pods are being made and started"),  # each pod that starts would be one more status
    LAUNCHER_STARTING: (30, "the pods are being made and started"),
}
"""What is said of a wait before its details are news, and for how many seconds."""
NOT_BEGUN = (STARTING, LAUNCHER_STARTING, HELD_UP)  # one wait, however its reason changes
REPORT_GIVE_UP_SECONDS = 300  # from the end of the pods: controllers that start anew have told by then
NOT_REPORTED = "CompletionNotReported"
MOST_NAMED = 5  # nodes in a message


def hold_back(request: Request, spec: JobSpec, status: JobStatus, workload: Workload, now: datetime) -> Result:
    """Show what a workload without pods waits for. No clock runs, and none has run: it starts from scratch."""
    fresh = status.model_copy(update={"workload_start_time": None, "nodes": None})
    return _pending(request, spec, fresh, workload, now)


def _pending(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    workload: Workload,
    now: datetime,
    *,
    waiting: Waiting | None = None,
    begun: bool = False,
) -> Result:
    """Show what is waited for, in detail after a grace; ``waiting`` says since when where that is known.

    Objects that the pods need are made again where somebody deleted them: without its runtime no TrainJob starts.
    Measurements are made when the first pod has ``begun``: before they would only ask whether one has.
    """
    waiting = waiting or wait(status.waiting, workload.reason, workload.message, now)
    grace, general = EARLY.get(waiting.reason, (0, ""))
    message = general if waited(waiting, now) < grace else workload.message
    shown = waiting.model_copy(update={"message": message})
    new = status.model_copy(update={"workload_phase": PENDING, "waiting": shown})
    entered = enter(new, IN_PROGRESS, "WorkloadPending", message, now)
    wanted = [*missing_dependencies(request, spec), *(measurements(request, spec, entered) if begun else ())]
    again = QUEUED_POLL_SECONDS if workload.reason == SUSPENDED else next_look(waiting, now, POLL_SECONDS)
    return answer(request, entered, wanted, resync_after=again)


def watch(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    pods: tuple[Pod, ...],
    observed: Observed,
    now: datetime,
) -> Answer:
    """Follow a TrainJob that has neither ended nor is held back; ``pods`` are its own."""
    unmade = None if status.workload_start_time else _unmade(spec, pods)
    workload = under_way(pods, unmade)
    judged = _with_health(spec, note_places(spec, status, pods, complete=unmade is None), pods, observed, now)
    if isinstance(judged, Reads):
        return judged
    status = judged
    if broken := [node for node in status.failed_nodes or () if node.reason == HARDWARE_FAILURE]:
        return _fail_hardware(request, status, broken, now)
    if workload.reason == UNSCHEDULABLE:
        return _unschedulable(request, spec, status, workload, observed, now)
    if workload.phase == PENDING and status.workload_start_time is None:
        return _not_begun(request, spec, status, workload, unmade, pods, now)
    unread = _unread_nodes(observed) if spec.node_health_monitor is not None else ""
    if unread and workload.reason == RUNS:
        text = f"{workload.message}, and their nodes are not watched: {unread}"
        workload = replace(workload, reason=READ_FAILING, message=text)
    return _running(request, spec, status, workload, now)


def _unmade(spec: JobSpec, pods: tuple[Pod, ...]) -> Workload | None:
    """Say which pods are not there, None where none is missing or nobody knows how many there should be.

    A launcher may be one of the nodes, and mostly follows when the workers are ready; without it nothing runs, and
    where one has run they were there.
    """
    plan, made = planned(spec), sum(not is_going(pod) for pod in pods)
    if any(is_launcher(pod) and has_run(pod) for pod in pods):
        return None
    if plan.nodes and made < plan.nodes:
        text = f"{made} of {plan.nodes} pods exist: others were not made, or quota or PodSecurity refuse them"
        return Workload(PENDING, STARTING, text)
    if plan.mpi and not any(map(is_launcher, pods)):
        text = "the launcher does not exist yet: it is made when all workers are ready"
        return Workload(PENDING, LAUNCHER_STARTING, text)
    return None


def _not_begun(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    workload: Workload,
    unmade: Workload | None,
    pods: tuple[Pod, ...],
    now: datetime,
) -> Result:
    """Wait for the pods as long as a workload may run, for pods that nobody makes a day at least: quota is a queue too.

    Who waits for the scheduler is queued. No node is to blame for a pod that is not there, nor where none has started
    or become ready; the launcher is there once all workers are.
    """
    lacks_pods = unmade is not None and unmade.reason != LAUNCHER_STARTING
    limit = max(_limit(spec), DEFAULT_TIMEOUT_SECONDS) if lacks_pods else _limit(spec)
    old, begun = _same_wait(status.waiting, workload.reason), any(pod.status.start_time for pod in pods)
    began = wait(old, workload.reason, workload.message, now)
    late = limit + _placed_later(began, pods)
    placed = all(pod.spec.node_name for pod in pods)
    waiting = wait_within(late, old, workload.reason, workload.message, now) if placed else began
    if waiting is not None:
        return _pending(request, spec, status, workload, now, waiting=waiting, begun=begun)
    judged = workload.reason == HELD_UP or (not lacks_pods and stuck(pods))
    over = _over(status, now).model_copy(update={} if judged else {"attribution": "None"})
    return fail(request, over, TIMED_OUT, f"the workload did not start: {workload.message}", now)


def _same_wait(old: Waiting | None, reason: str) -> Waiting | None:
    """Go on with a wait for pods to begin under another reason: it is one, whatever each look finds."""
    if old is None or old.reason.removesuffix(OVERDUE) not in NOT_BEGUN:
        return old
    return old.model_copy(update={"reason": f"{reason}{OVERDUE}" if is_overdue(old) else reason})


def _placed_later(waiting: Waiting, pods: tuple[Pod, ...]) -> float:
    """Seconds from the beginning of a wait until the last pod got its node: for so long it was queued."""
    placed = parse_rfc3339(max(map(placed_at, pods), default=""))
    return (seconds_between(waiting.since, placed) or 0.0) if placed else 0.0


def watch_blind(request: Request, spec: JobSpec, status: JobStatus, problem: str, now: datetime) -> Result:
    """Follow a TrainJob whose pods cannot be read: a clock that runs goes on, none is started."""
    if status.workload_start_time is None:
        return keep_trying(request, status, problem, now)
    return _running(request, spec, status, Workload(RUNNING, READ_FAILING, f"{NOT_READ}{problem}"), now)


def _running(request: Request, spec: JobSpec, status: JobStatus, workload: Workload, now: datetime) -> Result:
    started = status.workload_start_time or workload.started or rfc3339(now)
    begun = status.model_copy(update={"workload_phase": RUNNING, "workload_start_time": started})
    left = _seconds_left(spec, started, now)
    if workload.reason == COMPLETION_PENDING and _seconds_left(spec, started, _end_of(workload) or now) >= 0:
        return _await_report(request, spec, begun, workload, left, now)
    runs = workload.reason == RUNS
    held = None if runs else wait(status.waiting, workload.reason, workload.message, now)
    new = begun.model_copy(update={"waiting": held})
    stall = find_stall(request, spec, workload.started, now)
    if left <= 0 and (stall is None or stall.overdue < -left):
        text = overtime(spec) + (f": {workload.message}" if held else "")
        return fail(request, _over(new, now), TIMED_OUT, text, now)
    if stall is not None:
        over = _over(new, now)
        if may_restart(spec, over) and is_saved(request):
            return begin_restart(request, over, stall.text, now)
        return fail(request, over, STALLED, stall.text, now)
    resync = min(RUNNING_POLL_SECONDS, left + 1)
    entered = enter(new, IN_PROGRESS, RUNS, workload.message, now)
    return answer(request, entered, measurements(request, spec, entered), resync_after=resync)


def _end_of(workload: Workload) -> datetime | None:
    return parse_rfc3339(workload.ended or "")


def _await_report(
    request: Request, spec: JobSpec, status: JobStatus, workload: Workload, left: float, now: datetime
) -> Result:
    """Wait until the TrainJob tells what its pods did in time: its controllers may be late, and no node is to blame."""
    waiting = wait_within(REPORT_GIVE_UP_SECONDS, status.waiting, COMPLETION_PENDING, workload.message, now)
    if waiting is None and left <= 0:
        return fail(request, _over(status, now), NOT_REPORTED, workload.message, now)
    new = status.model_copy(update={"waiting": waiting or status.waiting})
    entered = enter(new, IN_PROGRESS, RUNS, workload.message, now)
    return answer(request, entered, measurements(request, spec, entered), resync_after=POLL_SECONDS)


def _unschedulable(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    workload: Workload,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Wait for room; where nodes of the group have gone there will be none, and the group ends after a grace."""
    nodes = observed[ListNodes()]
    status = status.model_copy(update={"workload_start_time": None})
    since = wait(status.waiting, workload.reason, workload.message, now)
    named = group_nodes(request)
    early = waited(since, now) < UNSCHEDULABLE_GRACE_SECONDS
    if early or isinstance(nodes, Unreadable) or not named:
        return _pending(request, spec, status, workload, now)
    live = _live([node.name for node in gone_nodes(spec, pick(nodes, named))], observed)
    if isinstance(live, Reads):
        return live
    gone = gone_nodes(spec, live)
    if not gone:
        return _pending(request, spec, status, workload, now)
    text = "; ".join(f"node {node.name} was {node.message}" for node in gone[:MOST_NAMED])
    new = status.model_copy(
        update={"failed_nodes": list(gone), "attribution": "Node", "workload_end_time": rfc3339(now)}
    )
    return fail(request, new, gone[0].reason, f"{text}: {workload.message}", now)


def _seconds_left(spec: JobSpec, started: str, now: datetime) -> float:
    return _limit(spec) - (seconds_between(started, now) or 0.0)


def _limit(spec: JobSpec) -> float:
    limit = parse_duration(spec.timeout) if spec.timeout else None
    return DEFAULT_TIMEOUT_SECONDS if limit is None else limit


def ran_out(spec: JobSpec, status: JobStatus, pods: tuple[Pod, ...]) -> bool:
    """Tell whether mpirun's own limit ended a workload: its time was over, and nobody had looked since.

    A program that ends so before its time has a time limit of its own, which is no affair of ours.
    """
    start, end = status.workload_start_time, parse_rfc3339(status.workload_end_time or "")
    trainer = spec.workload.train_job.get("trainer") or {}
    ours = has_limit([*(trainer.get("command") or ()), *(trainer.get("args") or ())])
    return ours and ended_by_limit(pods) and bool(start and end and _seconds_left(spec, start, end) <= 0)


def overtime(spec: JobSpec) -> str:
    """Say that a workload's time is over."""
    return f"the workload ran longer than {spec.timeout or '24h'}"


def _over(status: JobStatus, now: datetime) -> JobStatus:
    return status.model_copy(update={"workload_phase": FAILED, "workload_end_time": rfc3339(now)})


def _live(names: Sequence[str], observed: Observed) -> Known | Reads:
    """Read nodes as they are now: in the shared snapshot is what they were up to a minute ago."""
    reads = node_reads(names)
    return nodes_now(names, observed) if all(read in observed for read in reads) else Reads(reads)


def _unread_nodes(observed: Observed) -> str:
    """Say why the nodes, or one that seems to have failed, could not be read; empty where all were."""
    for read, found in observed.items():
        is_node = isinstance(read, ListNodes) or (isinstance(read, GetObject) and read.kind == "Node")
        if is_node and isinstance(found, Unreadable):
            return found.reason
    return ""


def _with_health(
    spec: JobSpec, status: JobStatus, pods: tuple[Pod, ...], observed: Observed, now: datetime
) -> JobStatus | Reads:
    """Add nodes for which the Job's expression is true, in the shared snapshot and when they are read live.

    An expression that cannot be evaluated is said, not ignored.
    """
    nodes = observed[ListNodes()]
    if spec.node_health_monitor is None or isinstance(nodes, Unreadable):
        return status
    expression = spec.node_health_monitor.cel.expression
    names = frozenset(pod.spec.node_name for pod in pods if pod.spec.node_name and is_live(pod))
    found = failed_nodes(expression, pick(nodes, names).values())
    if not isinstance(found, str):
        live = _live(found, observed)
        if isinstance(live, Reads):
            return live
        found = failed_nodes(expression, live.values())
    if isinstance(found, str):
        conditions = set_condition(status.conditions or (), HARDWARE_FAILED, "Unknown", "InvalidExpression", found, now)
        return status.model_copy(update={"conditions": list(conditions)})
    if not found:
        return status
    blamed = [FailedNode(name=name, reason=HARDWARE_FAILURE, message=NODE_FAILED) for name in found]
    return status.model_copy(update={"failed_nodes": blamed})


def _fail_hardware(request: Request, status: JobStatus, broken: list[FailedNode], now: datetime) -> Result:
    new = hardware_failed(_over(status, now), broken, now)
    text = next(item.message for item in new.conditions or () if item.type == HARDWARE_FAILED)
    return fail(request, new, HARDWARE_FAILURE, text, now)
