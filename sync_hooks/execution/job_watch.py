"""A workload under way: queued, starting or running, and what ends it from outside: its clock, a node, a stall.

The clock starts when the pods have started and never stops for pods that vanish; queued, suspended and unschedulable
time does not count. A stall counts only if the measurement has been reading.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sync_hooks.api.conditions import HARDWARE_FAILED, IN_PROGRESS, set_condition
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.goodputmeasurement import GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.names import goodput_name
from sync_hooks.api.observed import Node, Pod
from sync_hooks.api.request import GOODPUT_MEASUREMENT, MeasurementChild, Request
from sync_hooks.api.results import FailedNode
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339, seconds_between
from sync_hooks.execution.blame import STALLED, TIMED_OUT
from sync_hooks.execution.job_answer import answer, enter, fail
from sync_hooks.execution.job_health import HARDWARE_FAILURE, failed_nodes
from sync_hooks.execution.job_restart import begin_restart, may_restart
from sync_hooks.execution.phase import FAILED, PENDING, RUNNING, Workload, is_live, under_way
from sync_hooks.execution.waiting import wait, waited

DEFAULT_TIMEOUT_SECONDS = 24 * 3600
DEFAULT_SAMPLE_SECONDS = 60
DEFAULT_STARTUP_STALL_SECONDS = 1200
POLL_SECONDS = 15  # pods tell no hook that they start
RUNNING_POLL_SECONDS = 60
UNSCHEDULABLE_GRACE_SECONDS = 300  # schedulers need a while; before that it is no news
UNSCHEDULABLE = "WorkloadUnschedulable"


def pending(request: Request, status: JobStatus, workload: Workload, now: datetime) -> Result:
    """Show what is waited for; an unschedulable workload's reason after a grace. No clock runs."""
    waiting = wait(status.waiting, workload.reason, workload.message, now)
    early = workload.reason == UNSCHEDULABLE and waited(waiting, now) < UNSCHEDULABLE_GRACE_SECONDS
    message = "the workload waits to be scheduled" if early else workload.message
    shown = waiting.model_copy(update={"message": message})
    new = status.model_copy(update={"workload_phase": PENDING, "waiting": shown})
    return answer(request, enter(new, IN_PROGRESS, "WorkloadPending", message, now), resync_after=POLL_SECONDS)


def watch(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    pods: tuple[Pod, ...],
    nodes: tuple[Node, ...] | Unreadable,
    now: datetime,
) -> Answer:
    """Follow a TrainJob that has neither ended nor is held back; ``pods`` are its own."""
    workload = under_way(pods)
    if workload.reason == UNSCHEDULABLE or (workload.phase == PENDING and status.workload_start_time is None):
        return pending(request, status, workload, now)
    started = status.workload_start_time or workload.started or rfc3339(now)
    runs = workload.reason == "WorkloadRunning"
    held = None if runs else wait(status.waiting, workload.reason, workload.message, now)
    new = status.model_copy(update={"workload_phase": RUNNING, "workload_start_time": started, "waiting": held})
    new = _with_health(spec, new, pods, nodes, now)
    if broken := [node for node in new.failed_nodes or () if node.reason == HARDWARE_FAILURE]:
        return _fail_hardware(request, new, broken, now)
    left = _seconds_left(spec, started, now)
    if left <= 0:
        text = f"the workload ran longer than {spec.timeout or '24h'}" + (f": {workload.message}" if held else "")
        return fail(request, _over(new, now), TIMED_OUT, text, now)
    if stall := _stall(request, spec, started, now):
        over = _over(new, now)
        if may_restart(request, spec, over):
            return begin_restart(request, spec, over, stall, now)
        return fail(request, over, STALLED, stall, now)
    resync = min(RUNNING_POLL_SECONDS, left + 1)
    return answer(request, enter(new, IN_PROGRESS, "WorkloadRunning", workload.message, now), resync_after=resync)


def _seconds_left(spec: JobSpec, started: str, now: datetime) -> float:
    limit = parse_duration(spec.timeout) if spec.timeout else None
    return (DEFAULT_TIMEOUT_SECONDS if limit is None else limit) - (seconds_between(started, now) or 0.0)


def _over(status: JobStatus, now: datetime) -> JobStatus:
    return status.model_copy(update={"workload_phase": FAILED, "workload_end_time": rfc3339(now)})


def _with_health(
    spec: JobSpec, status: JobStatus, pods: tuple[Pod, ...], nodes: tuple[Node, ...] | Unreadable, now: datetime
) -> JobStatus:
    """Add nodes for which the Job's expression is true; an expression that cannot be evaluated is said, not ignored."""
    if spec.node_health_monitor is None or isinstance(nodes, Unreadable):
        return status
    names = frozenset(pod.spec.node_name for pod in pods if pod.spec.node_name and is_live(pod))
    found = failed_nodes(spec.node_health_monitor.cel.expression, nodes, names)
    if isinstance(found, str):
        conditions = set_condition(status.conditions or (), HARDWARE_FAILED, "Unknown", "InvalidExpression", found, now)
        return status.model_copy(update={"conditions": list(conditions)})
    if not found:
        return status
    text = "the node failed while the workload ran on it"
    blamed = [FailedNode(name=name, reason=HARDWARE_FAILURE, message=text) for name in found]
    return status.model_copy(update={"failed_nodes": blamed, "attribution": "Node"})


def _fail_hardware(request: Request, status: JobStatus, broken: list[FailedNode], now: datetime) -> Result:
    text = f"nodes failed while the workload ran on them: {', '.join(node.name for node in broken)}"
    conditions = set_condition(status.conditions or (), HARDWARE_FAILED, "True", HARDWARE_FAILURE, text, now)
    new = _over(status, now).model_copy(update={"conditions": list(conditions)})
    return fail(request, new, HARDWARE_FAILURE, text, now)


def _stall(request: Request, spec: JobSpec, started: str, now: datetime) -> str | None:
    """Say how long no step has come, None where that is no stall or cannot be known."""
    if spec.stall_multiplier is None or spec.goodput_measurement is None:
        return None
    child = request.of(GOODPUT_MEASUREMENT, MeasurementChild).get(goodput_name(request.parent.metadata.name))
    status = read_status(GoodputMeasurementStatus, child.status if child else None)
    interval = parse_duration(spec.goodput_measurement.sample_interval or "") or DEFAULT_SAMPLE_SECONDS
    last_look = seconds_between(status.last_sample_time, now)
    if last_look is None or last_look > 2 * interval:
        return None
    if status.last_step_timestamp and status.avg_step_time_sec:
        steps = spec.stall_multiplier * max(status.log_interval or 1, 1)
        return _late(status.last_step_timestamp, steps * status.avg_step_time_sec + 2 * interval, "no step", now)
    limit = spec.startup_stall_timeout_seconds or DEFAULT_STARTUP_STALL_SECONDS
    start = max(filter(None, (parse_rfc3339(status.application_start_time or ""), parse_rfc3339(started))))
    return _late(rfc3339(start), limit + 2 * interval, "no first step", now)


def _late(since: str, limit: float, what: str, now: datetime) -> str | None:
    quiet = seconds_between(since, now) or 0.0
    return f"{what} for {timedelta(seconds=int(quiet))}, allowed are {int(limit)} s" if quiet > limit else None
