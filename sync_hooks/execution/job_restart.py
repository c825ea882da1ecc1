"""Restarts from a checkpoint: only where one was saved, attempts are left, and no node has failed.

In two steps, because a TrainJob takes its logs along, and the last look at them may be older than the last checkpoint:
the ended attempt stays until its log has been read to the end, bounded. Then it goes, and the next one is made under a
new name; or there was no checkpoint, and the attempt has failed for good.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.conditions import HARDWARE_FAILED, IN_PROGRESS, find, is_true
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.goodputmeasurement import GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.names import goodput_name
from sync_hooks.api.request import GOODPUT_MEASUREMENT, TRAIN_JOB, MeasurementChild, Request, TrainJobChild
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Result
from sync_hooks.execution.blame import WORKLOAD_FAILED
from sync_hooks.execution.job_answer import answer, enter, fail
from sync_hooks.execution.phase import FAILED, PENDING
from sync_hooks.execution.waiting import next_look, wait, wait_within

RESTARTING = "WorkloadRestarting"
READING = "the log of the failed attempt is being read"
DEFAULT_SAMPLE_SECONDS = 60
SAMPLES_TO_WAIT = 2
LEAST_PATIENCE_SECONDS = 180  # with samples every minute as long as other measurements are waited for


def may_restart(spec: JobSpec, status: JobStatus) -> bool:
    """Tell whether a failed attempt is followed by another where a checkpoint was saved."""
    allowed = (spec.checkpoint.max_restarts or 0) if spec.checkpoint else 0
    if (status.attempt or 0) >= allowed or is_true(status.conditions or (), HARDWARE_FAILED):
        return False
    return spec.goodput_measurement is not None


def is_saved(request: Request) -> bool:
    """Tell whether a checkpoint is known: not yet, where its log is still to be read."""
    return (_goodput(request).last_checkpoint_step or 0) > 0


def begin_restart(request: Request, status: JobStatus, cause: str, now: datetime) -> Result:
    """Note that the attempt has failed and another may come; ``cause`` is what failed, for people."""
    waiting = wait(status.waiting, RESTARTING, READING, now)
    new = status.model_copy(update={"workload_phase": FAILED, "waiting": waiting})
    return answer(request, enter(new, IN_PROGRESS, RESTARTING, cause, now), resync_after=next_look(waiting, now))


def is_restarting(status: JobStatus) -> bool:
    """Tell whether the current attempt has ended and the next one is still to be made."""
    progress = find(status.conditions or (), IN_PROGRESS)
    under_way = progress is not None and progress.status == "True" and progress.reason == RESTARTING
    return under_way and status.workload_phase == FAILED


def go_on(request: Request, spec: JobSpec, status: JobStatus, now: datetime) -> Result:
    """Wait for the log to have been read, then drop the attempt and count the next; without a checkpoint, fail."""
    waiting = wait_within(_patience(spec), status.waiting, RESTARTING, READING, now)
    if waiting is not None and not _is_read(request, status):
        return answer(request, status.model_copy(update={"waiting": waiting}), resync_after=next_look(waiting, now))
    progress = find(status.conditions or (), IN_PROGRESS)
    cause = progress.message if progress else ""
    if is_saved(request):
        return _next(request, spec, status, cause, now)
    return fail(request, status, WORKLOAD_FAILED, cause, now)


def _is_read(request: Request, status: JobStatus) -> bool:
    """Tell whether the measurement has read the log of the current attempt to its end."""
    run, reference = _goodput(request).run, status.workload_ref
    return run is not None and reference is not None and run.workload_uid == reference.uid and bool(run.finished)


def _next(request: Request, spec: JobSpec, status: JobStatus, cause: str, now: datetime) -> Result:
    attempt, allowed = (status.attempt or 0) + 1, spec.checkpoint.max_restarts if spec.checkpoint else 0
    step = _goodput(request).last_checkpoint_step
    text = f"restart {attempt} of {allowed} from the checkpoint of step {step}: {cause}"
    new = status.model_copy(
        update={
            "attempt": attempt,
            "workload_ref": None,
            "workload_phase": PENDING,
            "workload_start_time": None,
            "workload_end_time": None,
            "nodes": None,
            "waiting": None,
        }
    )
    entered = enter(new, IN_PROGRESS, RESTARTING, text, now)
    return answer(request, entered, dropped=tuple(request.of(TRAIN_JOB, TrainJobChild)), resync_after=1)


def _patience(spec: JobSpec) -> float:
    """Seconds in which a log is read although the cluster is out of reach for one or two of the samples."""
    interval = spec.goodput_measurement.sample_interval if spec.goodput_measurement else None
    return LEAST_PATIENCE_SECONDS + SAMPLES_TO_WAIT * (parse_duration(interval or "") or DEFAULT_SAMPLE_SECONDS)


def _goodput(request: Request) -> GoodputMeasurementStatus:
    child = request.of(GOODPUT_MEASUREMENT, MeasurementChild).get(goodput_name(request.parent.metadata.name))
    return read_status(GoodputMeasurementStatus, child.status if child else None)
