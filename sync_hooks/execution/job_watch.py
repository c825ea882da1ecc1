"""A workload under way, and what ends it from outside: its clock, a node, a stall.

The clock starts when all pods are there and their containers have started, and never stops for pods that vanish;
queued, suspended and unschedulable time does not count, nor does pulling an image (`job_pending`). A stall counts only
if the measurement has been reading. Of a stall and the end of the time what came first counts, whenever somebody looks.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sync_hooks.api.conditions import HARDWARE_FAILED, IN_PROGRESS
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.observed import Pod
from sync_hooks.api.request import Request
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import Answer, GetObject, ListNodes, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339
from sync_hooks.execution.blame import CREATION_ERROR, STALLED, TIMED_OUT, ended_by_limit
from sync_hooks.execution.job_answer import answer, enter, fail, keep_trying
from sync_hooks.execution.job_clock import over, overtime, seconds_left
from sync_hooks.execution.job_health import (
    AGAIN_SECONDS,
    HARDWARE_FAILURE,
    hardware_failed,
    is_suspected,
    watch_nodes,
)
from sync_hooks.execution.job_launch import measurements
from sync_hooks.execution.job_pending import POLL_SECONDS, is_given_up, is_late, not_begun, unschedulable_pods
from sync_hooks.execution.job_places import note_places
from sync_hooks.execution.job_restart import begin_restart, is_saved, may_restart
from sync_hooks.execution.job_stall import find_stall
from sync_hooks.execution.mpirun import has_limit
from sync_hooks.execution.phase import (
    COMPLETION_PENDING,
    PENDING,
    RUNNING,
    RUNS,
    SIDECAR_RUNNING,
    UNSCHEDULABLE,
    Workload,
    under_way,
)
from sync_hooks.execution.unmade import is_final, refusal, unmade_pods
from sync_hooks.execution.waiting import (
    CHILD_LIVE_READ_SECONDS,
    NOT_READ,
    READ_FAILING,
    next_look_for_told,
    wait,
    wait_within,
    waited,
)

RUNNING_POLL_SECONDS = 60
REPORT_GIVE_UP_SECONDS = 300  # from the end of the pods: controllers that start anew have told by then
SIDECAR_GIVE_UP_SECONDS = 1800  # one that uploads what the workload wrote takes a while; one of a mesh never ends
NOT_REPORTED = "CompletionNotReported"


def watch(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    pods: tuple[Pod, ...],
    observed: Observed,
    now: datetime,
) -> Answer:
    """Follow a TrainJob that has neither ended nor is held back; ``pods`` are its own."""
    unmade = None if status.workload_start_time else unmade_pods(spec, pods)
    workload = under_way(pods, unmade, begun=status.workload_start_time is not None)
    judged = watch_nodes(spec, note_places(spec, status, pods, complete=unmade is None), pods, observed, now)
    if isinstance(judged, Reads):
        return judged
    status = judged
    if broken := [node for node in status.failed_nodes or () if node.reason == HARDWARE_FAILURE]:
        return _fail_hardware(request, status, broken, now)
    if workload.reason == UNSCHEDULABLE:
        return unschedulable_pods(request, spec, status, pods, workload, observed, now)
    if workload.phase == PENDING and status.workload_start_time is None:
        words = refusal(request, spec, status, pods, observed) if unmade and is_late(status, now) else ""
        if isinstance(words, Reads):
            return words
        if is_final(words) and is_given_up(status, now):
            return fail(request, over(status, now), CREATION_ERROR, words, now)
        workload = replace(workload, message=f"{workload.message}: {words}") if words else workload
        return not_begun(request, spec, status, workload, unmade, pods, now)
    unread = _unread_nodes(observed) if spec.node_health_monitor is not None else ""
    if unread and workload.reason == RUNS:
        text = f"{workload.message}, and their nodes are not watched: {unread}"
        workload = replace(workload, reason=READ_FAILING, message=text)
    return _running(request, spec, status, workload, now)


def watch_blind(request: Request, spec: JobSpec, status: JobStatus, problem: str, now: datetime) -> Result:
    """Follow a TrainJob whose pods cannot be read: a clock that runs goes on, none is started."""
    if status.workload_start_time is None:
        return keep_trying(request, status, problem, now)
    return _running(request, spec, status, Workload(RUNNING, READ_FAILING, f"{NOT_READ}{problem}"), now)


def _running(request: Request, spec: JobSpec, status: JobStatus, workload: Workload, now: datetime) -> Result:
    started = status.workload_start_time or workload.started or rfc3339(now)
    begun = status.model_copy(update={"workload_phase": RUNNING, "workload_start_time": started})
    left = seconds_left(spec, started, now)
    in_time = seconds_left(spec, started, parse_rfc3339(workload.ended or "") or now) >= 0
    if workload.reason in (COMPLETION_PENDING, SIDECAR_RUNNING) and in_time:
        return _await_report(request, spec, begun, workload, left, now)
    runs = workload.reason == RUNS
    held = None if runs else wait(status.waiting, workload.reason, workload.message, now)
    new = begun.model_copy(update={"waiting": held})
    stall = find_stall(request, spec, workload.started, now)
    if left <= 0 and (stall is None or stall.overdue < -left):
        text = overtime(spec) + (f": {workload.message}" if held else "")
        return fail(request, over(new, now), TIMED_OUT, text, now)
    if stall is not None:
        ended = over(new, now)
        if may_restart(spec, ended) and is_saved(request):
            return begin_restart(request, ended, stall.text, now)
        return fail(request, ended, STALLED, stall.text, now)
    poll = AGAIN_SECONDS if is_suspected(new) else RUNNING_POLL_SECONDS
    resync = min(poll, left) + 1
    entered = enter(new, IN_PROGRESS, RUNS, workload.message, now)
    return answer(request, entered, measurements(request, spec, entered), resync_after=resync)


def _await_report(
    request: Request, spec: JobSpec, status: JobStatus, workload: Workload, left: float, now: datetime
) -> Result:
    """Wait until the TrainJob tells what its pods did in time: its controllers may be late, and no node is to blame.

    Nor is one for a sidecar, which keeps its pods from ending, and its nodes from the next workload. A measurement that
    is not there yet is made at the end, or when that is late: until then it would find the same.
    """
    beside = workload.reason == SIDECAR_RUNNING
    limit, reason = (SIDECAR_GIVE_UP_SECONDS if beside else REPORT_GIVE_UP_SECONDS), workload.reason
    waiting = wait_within(limit, status.waiting, reason, workload.message, now)
    if waiting is None and (beside or left <= 0):
        return fail(request, over(status, now), SIDECAR_RUNNING if beside else NOT_REPORTED, workload.message, now)
    new = status.model_copy(update={"waiting": waiting or status.waiting})
    entered = enter(new, IN_PROGRESS, RUNS, workload.message, now)
    late = beside or waited(new.waiting, now) >= CHILD_LIVE_READ_SECONDS
    made = measurements(request, spec, entered) if late else ()
    again = next_look_for_told(waiting, limit, now) if waiting else POLL_SECONDS
    return answer(request, entered, made, resync_after=again)


def ran_out(spec: JobSpec, status: JobStatus, pods: tuple[Pod, ...]) -> bool:
    """Tell whether mpirun's own limit ended a workload: its time was over, and nobody had looked since.

    A program that ends so before its time has a time limit of its own, which is no affair of ours.
    """
    start, end = status.workload_start_time, parse_rfc3339(status.workload_end_time or "")
    trainer = spec.workload.train_job.get("trainer") or {}
    ours = has_limit([*(trainer.get("command") or ()), *(trainer.get("args") or ())])
    return ours and ended_by_limit(pods) and bool(start and end and seconds_left(spec, start, end) <= 0)


def _unread_nodes(observed: Observed) -> str:
    """Say why the nodes, or one that seems to have failed, could not be read; empty where all were."""
    for read, found in observed.items():
        is_node = isinstance(read, ListNodes) or (isinstance(read, GetObject) and read.kind == "Node")
        if is_node and isinstance(found, Unreadable):
            return found.reason
    return ""


def _fail_hardware(request: Request, status: JobStatus, broken: list[FailedNode], now: datetime) -> Result:
    new = hardware_failed(over(status, now), broken, now)
    text = next(item.message for item in new.conditions or () if item.type == HARDWARE_FAILED)
    return fail(request, new, HARDWARE_FAILURE, text, now)
