"""A workload that has not begun: held back, waiting for room, or for its pods to be made and started.

No clock runs meanwhile. What never starts is given up; the scheduler is waited for as long as it takes, but not for
nodes that have gone, or have become unfit.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sync_hooks.api.conditions import IN_PROGRESS
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.observed import Pod
from sync_hooks.api.request import Request
from sync_hooks.api.results import FailedNode, Waiting
from sync_hooks.api.sync import Answer, ListNodes, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339, seconds_between
from sync_hooks.execution.blame import TIMED_OUT
from sync_hooks.execution.gone import gone_nodes, live_nodes
from sync_hooks.execution.job_answer import answer, enter, fail, group_nodes
from sync_hooks.execution.job_clock import DEFAULT_TIMEOUT_SECONDS, limit_of, over
from sync_hooks.execution.job_dependencies import missing_dependencies
from sync_hooks.execution.job_launch import measurements
from sync_hooks.execution.phase import (
    HELD_UP,
    LAUNCHER_STARTING,
    PENDING,
    STARTING,
    SUSPENDED,
    UNSCHEDULABLE,
    Workload,
    placed_at,
)
from sync_hooks.execution.snapshot import pick
from sync_hooks.execution.unfailed import stuck
from sync_hooks.execution.unfit import unfit_nodes
from sync_hooks.execution.waiting import (
    CHILD_GIVE_UP_SECONDS,
    CHILD_LIVE_READ_SECONDS,
    OVERDUE,
    is_overdue,
    next_look,
    wait,
    wait_within,
    waited,
)
from sync_hooks.report.nodes import NODE_UNFIT

POLL_SECONDS = 15  # at first, once the details are news: pods tell no hook of them
QUEUED_POLL_SECONDS = 300  # the TrainJob itself tells when it is let go; thousands may be queued
UNSCHEDULABLE_GRACE_SECONDS = 300  # schedulers need a while; before that it is no news
UNFIT_GIVE_UP_SECONDS = 300  # a device plugin that starts anew offers nothing for a while
EARLY = {
    UNSCHEDULABLE: (UNSCHEDULABLE_GRACE_SECONDS, "the workload waits to be scheduled"),
    STARTING: (30, "the pods are being made and started"),  # each pod that starts would be one more status
    LAUNCHER_STARTING: (30, "the pods are being made and started"),
}
"""What is said of a wait before its details are news, and for how many seconds."""
NOT_BEGUN = (STARTING, LAUNCHER_STARTING, HELD_UP)  # one wait, however its reason changes
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
    message = general if waited(waiting, now) < grace else waiting.message
    shown = waiting.model_copy(update={"message": message})
    new = status.model_copy(update={"workload_phase": PENDING, "waiting": shown})
    entered = enter(new, IN_PROGRESS, "WorkloadPending", message, now)
    wanted = [*missing_dependencies(request, spec), *(measurements(request, spec, entered) if begun else ())]
    return answer(request, entered, wanted, resync_after=_next_poll(waiting, now))


def _next_poll(waiting: Waiting, now: datetime) -> float:
    """Seconds until the next look: that pods have started their TrainJob tells, why they do not is asked."""
    if waiting.reason == SUSPENDED:
        return QUEUED_POLL_SECONDS
    grace = EARLY[STARTING][0] if waiting.reason in (STARTING, LAUNCHER_STARTING) else 0
    return next_look(waiting, now, POLL_SECONDS, nothing_before=grace)


def is_late(status: JobStatus, now: datetime) -> bool:
    """Tell whether pods have not begun for so long that it is worth asking why."""
    return _waited_for_pods(status, now) >= CHILD_LIVE_READ_SECONDS


def is_given_up(status: JobStatus, now: datetime) -> bool:
    """Tell whether pods have not begun for so long that those who make them have tried again and again."""
    return _waited_for_pods(status, now) >= CHILD_GIVE_UP_SECONDS


def _waited_for_pods(status: JobStatus, now: datetime) -> float:
    known = status.waiting is not None and status.waiting.reason.removesuffix(OVERDUE) in NOT_BEGUN
    return waited(status.waiting, now) if known else 0.0


def not_begun(
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
    limit = max(limit_of(spec), DEFAULT_TIMEOUT_SECONDS) if lacks_pods else limit_of(spec)
    old, begun = _same_wait(status.waiting, workload.reason), any(pod.status.start_time for pod in pods)
    began = wait(old, workload.reason, workload.message, now)
    late = limit + _placed_later(began, pods)
    placed = all(pod.spec.node_name for pod in pods)
    waiting = wait_within(late, old, workload.reason, workload.message, now) if placed else began
    if waiting is not None:
        return _pending(request, spec, status, workload, now, waiting=waiting, begun=begun)
    judged = workload.reason == HELD_UP or (not lacks_pods and stuck(pods))
    ended = over(status, now).model_copy(update={} if judged else {"attribution": "None"})
    return fail(request, ended, TIMED_OUT, f"the workload did not start: {workload.message}", now)


def _same_wait(old: Waiting | None, reason: str) -> Waiting | None:
    """Go on with a wait for pods to begin under another reason: it is one, whatever each look finds."""
    if old is None or old.reason.removesuffix(OVERDUE) not in NOT_BEGUN:
        return old
    return old.model_copy(update={"reason": f"{reason}{OVERDUE}" if is_overdue(old) else reason})


def _placed_later(waiting: Waiting, pods: tuple[Pod, ...]) -> float:
    """Seconds from the beginning of a wait until the last pod got its node: for so long it was queued."""
    placed = parse_rfc3339(max(map(placed_at, pods), default=""))
    return (seconds_between(waiting.since, placed) or 0.0) if placed else 0.0


def unschedulable_pods(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    pods: tuple[Pod, ...],
    workload: Workload,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Wait for room; where nodes of the group have gone, or are unfit now, there will be none, and the group ends."""
    nodes = observed[ListNodes()]
    status = status.model_copy(update={"workload_start_time": None})
    old, named = status.waiting, group_nodes(request)
    unfit_before = old is not None and old.reason.removesuffix(OVERDUE) == NODE_UNFIT
    early = waited(wait(old, workload.reason, workload.message, now), now) < UNSCHEDULABLE_GRACE_SECONDS
    if (early and not unfit_before) or isinstance(nodes, Unreadable) or not named:
        return _pending(request, spec, status, workload, now)
    known = pick(nodes, named)
    live = live_nodes([node.name for node in (*gone_nodes(spec, known), *unfit_nodes(known, pods))], observed)
    if isinstance(live, Reads):
        return live
    if gone := gone_nodes(spec, live):
        return _give_up(request, status, gone, workload, now)
    unfit = unfit_nodes(live, pods)
    waiting = wait_within(UNFIT_GIVE_UP_SECONDS, old, NODE_UNFIT, _why(unfit, workload), now) if unfit else None
    if unfit and waiting is None:
        return _give_up(request, status, unfit, workload, now)
    return _pending(request, spec, status, workload, now, waiting=waiting)


def _give_up(
    request: Request, status: JobStatus, nodes: Sequence[FailedNode], workload: Workload, now: datetime
) -> Result:
    new = status.model_copy(
        update={"failed_nodes": list(nodes), "attribution": "Node", "workload_end_time": rfc3339(now)}
    )
    return fail(request, new, nodes[0].reason, _why(nodes, workload), now)


def _why(nodes: Sequence[FailedNode], workload: Workload) -> str:
    text = "; ".join(f"node {node.name} was {node.message}" for node in nodes[:MOST_NAMED])
    return f"{text}: {workload.message}"
