"""Restarts from a checkpoint: only where one was saved, attempts are left, and no node has failed.

In two steps, because a TrainJob takes its logs along: the ended attempt stays until its log has been read to the end,
bounded; then it goes, and the next one is made under a new name.
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
from sync_hooks.execution.job_answer import answer, enter
from sync_hooks.execution.phase import FAILED, PENDING
from sync_hooks.execution.waiting import next_look, wait, waited

RESTARTING = "WorkloadRestarting"
DEFAULT_SAMPLE_SECONDS = 60
SAMPLES_TO_WAIT = 2


def may_restart(request: Request, spec: JobSpec, status: JobStatus) -> bool:
    """Tell whether a failed attempt is followed by another."""
    allowed = (spec.checkpoint.max_restarts or 0) if spec.checkpoint else 0
    if (status.attempt or 0) >= allowed or is_true(status.conditions or (), HARDWARE_FAILED):
        return False
    return (_goodput(request).last_checkpoint_step or 0) > 0


def begin_restart(request: Request, spec: JobSpec, status: JobStatus, cause: str, now: datetime) -> Result:
    """Note that the attempt has failed and another will come; ``cause`` is what failed, for people."""
    allowed = spec.checkpoint.max_restarts if spec.checkpoint else 0
    step = _goodput(request).last_checkpoint_step
    text = f"restart {(status.attempt or 0) + 1} of {allowed} from the checkpoint of step {step}: {cause}"
    waiting = wait(status.waiting, RESTARTING, "the log of the failed attempt is being read", now)
    new = status.model_copy(update={"workload_phase": FAILED, "waiting": waiting})
    return answer(request, enter(new, IN_PROGRESS, RESTARTING, text, now), resync_after=next_look(waiting, now))


def is_restarting(status: JobStatus) -> bool:
    """Tell whether the current attempt has ended and the next one is still to be made."""
    progress = find(status.conditions or (), IN_PROGRESS)
    under_way = progress is not None and progress.status == "True" and progress.reason == RESTARTING
    return under_way and status.workload_phase == FAILED


def go_on(request: Request, spec: JobSpec, status: JobStatus, now: datetime) -> Result:
    """Wait for the log to have been read, then drop the attempt and count the next one."""
    waiting = wait(status.waiting, RESTARTING, "the log of the failed attempt is being read", now)
    run = _goodput(request).run
    read = run is not None and status.workload_ref is not None and run.workload_uid == status.workload_ref.uid
    if not (read and run is not None and run.finished) and waited(waiting, now) < _patience(spec):
        return answer(request, status.model_copy(update={"waiting": waiting}), resync_after=next_look(waiting, now))
    new = status.model_copy(
        update={
            "attempt": (status.attempt or 0) + 1,
            "workload_ref": None,
            "workload_phase": PENDING,
            "workload_start_time": None,
            "workload_end_time": None,
            "nodes": None,
            "waiting": None,
        }
    )
    return answer(request, new, dropped=tuple(request.of(TRAIN_JOB, TrainJobChild)), resync_after=1)


def _patience(spec: JobSpec) -> float:
    interval = spec.goodput_measurement.sample_interval if spec.goodput_measurement else None
    return SAMPLES_TO_WAIT * (parse_duration(interval or "") or DEFAULT_SAMPLE_SECONDS)


def _goodput(request: Request) -> GoodputMeasurementStatus:
    child = request.of(GOODPUT_MEASUREMENT, MeasurementChild).get(goodput_name(request.parent.metadata.name))
    return read_status(GoodputMeasurementStatus, child.status if child else None)
