"""Restarts from a checkpoint: only where one was saved, attempts are left, and no node has failed.

Begun here, and carried out by `job_attempts`: a TrainJob takes its pods and logs along, so that what is to be known of
the ended attempt is found out before it goes.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.conditions import HARDWARE_FAILED, IN_PROGRESS, find, is_true
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.goodputmeasurement import GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.names import goodput_name
from sync_hooks.api.request import GOODPUT_MEASUREMENT, MeasurementChild, Request
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Result
from sync_hooks.execution.job_answer import answer, enter
from sync_hooks.execution.phase import FAILED
from sync_hooks.execution.waiting import next_look, wait
from sync_hooks.measurements.sampling import DEFAULT_INTERVAL_SECONDS

RESTARTING = "WorkloadRestarting"
READING = "the log of the failed attempt is being read"


def may_restart(spec: JobSpec, status: JobStatus) -> bool:
    """Tell whether a failed attempt is followed by another where a checkpoint was saved."""
    allowed = (spec.checkpoint.max_restarts or 0) if spec.checkpoint else 0
    if (status.attempt or 0) >= allowed or is_true(status.conditions or (), HARDWARE_FAILED):
        return False
    return spec.goodput_measurement is not None


def is_saved(request: Request) -> bool:
    """Tell whether a checkpoint is known: not yet, where its log is still to be read."""
    return (last_checkpoint(request) or 0) > 0


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


def last_checkpoint(request: Request) -> int | None:
    """Return the step of the last checkpoint that is known."""
    return goodput_of(request).last_checkpoint_step


def sample_seconds(spec: JobSpec) -> float:
    """Return the seconds between two looks of the goodput measurement, as the run asks for them."""
    interval = spec.goodput_measurement.sample_interval if spec.goodput_measurement else None
    return parse_duration(interval or "") or DEFAULT_INTERVAL_SECONDS


def goodput_of(request: Request) -> GoodputMeasurementStatus:
    """Return the status of the Job's goodput measurement, an empty one where it is not seen."""
    child = request.of(GOODPUT_MEASUREMENT, MeasurementChild).get(goodput_name(request.parent.metadata.name))
    return read_status(GoodputMeasurementStatus, child.status if child else None)
