"""A measurement's answers: leave it, wait, read on, end it once and for all, each with the condition that says why."""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.conditions import COMPLETE, MEASURING, SUCCEEDED, set_condition
from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.observed import Log
from sync_hooks.api.request import Request
from sync_hooks.api.status import write_status
from sync_hooks.api.sync import Busy, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339
from sync_hooks.measurements.page import is_lost
from sync_hooks.measurements.pods import NotThere
from sync_hooks.measurements.sample import Sample, SpecT, StatusT
from sync_hooks.measurements.subject import JobState

WAITING_RESYNC_SECONDS = 15  # for a Job to start, for what cannot be read
NEXT_PAGE_RESYNC_SECONDS = 1
NOT_YET = Busy("the Job tells of an end that it has not written down yet", retry_after=1, passing=True)
"""Metacontroller carries out what is asked of children before it writes the parent's status. An answer would be written
down, and tell the Job of nothing."""

JOB_RUNNING = "JobRunning"
JOB_SUCCEEDED = "JobSucceeded"
JOB_FAILED = "JobFailed"
NO_DATA = "NoDataCollected"
LOGS_UNAVAILABLE = "LogsUnavailable"
FINAL_READ_PENDING = "FinalReadPending"


def unchanged(request: Request, resync_after: float = 0) -> Result:
    """Answer with the status as it is."""
    return Result(status=dict(request.parent.status), resync_after=resync_after)


def answer(request: Request, status: StatusT, resync_after: float = 0) -> Result:
    """Answer with a new status."""
    status = status.model_copy(update={"observed_generation": request.parent.metadata.generation or None})
    return Result(status=write_status(request.parent.status, status), resync_after=resync_after)


def measuring(status: StatusT, value: str, reason: str, message: str, now: datetime) -> StatusT:
    """Say whether the measurement runs, and why."""
    conditions = set_condition(status.conditions or (), MEASURING, value, reason, message, now)
    return status.model_copy(update={"conditions": list(conditions)})


def wait(sample: Sample[SpecT, StatusT], problem: NotThere | Unreadable) -> Result:
    """Answer while the Job runs and nothing can be read: with the reason, or with the same status if it may pass."""
    if isinstance(problem, Unreadable):
        return unchanged(sample.request, WAITING_RESYNC_SECONDS)
    status = measuring(sample.status, "False", problem.reason, problem.message, sample.now)
    return answer(sample.request, status, WAITING_RESYNC_SECONDS)


def pend(sample: Sample[SpecT, StatusT], message: str, again: float) -> Result:
    """Answer after the end of the workload, while its logs are still to be read."""
    status = measuring(sample.status, "False", FINAL_READ_PENDING, message, sample.now)
    return answer(sample.request, status, again)


def end(sample: Sample[SpecT, StatusT], job: JobState | None, reason: str, message: str) -> Result:
    """Complete the measurement, once and for all."""
    status = measuring(sample.status, "False", reason, message, sample.now)
    conditions = set_condition(status.conditions or (), COMPLETE, "True", reason, message, sample.now)
    ended = job.end if job and job.end else sample.now
    status = status.model_copy(
        update={"conditions": list(conditions), "completion_time": rfc3339(ended), "end_seen_time": None}
    )
    return answer(sample.request, status)


def end_seen(known: str | None, now: datetime) -> str:
    """Return when the end of the workload was first seen: now, unless an earlier sync saw it."""
    seen = parse_rfc3339(known) if known else None
    return rfc3339(min(seen, now) if seen else now)


def shown_of(
    sample: Sample[SpecT, StatusT], job: JobState, page: Log | Unreadable, *read: LogCursor
) -> Log | Unreadable:
    """Return a page as it is, or why it is no more to go by than one that cannot be read: it lacks what was read.

    An empty answer may be that of a log out of reach. It is taken for the log's end once nothing else is to be hoped
    for.
    """
    if isinstance(page, Unreadable) or not any(is_lost(cursor, page) for cursor in read):
        return page
    lost = Unreadable("the log shows nothing of what was read of it before")
    return page if job.ended and is_hopeless(sample, job, lost) else lost


def is_hopeless(sample: Sample[SpecT, StatusT], job: JobState, problem: NotThere | Unreadable) -> bool:
    """Tell whether logs of a workload that has ended need not be tried for any longer.

    What failed takes its pods along at once; for everything else there is a time since the end was first seen. While
    another attempt may follow the Job decides how long: its wait is proof against clocks that step, and it goes on
    from a checkpoint that was seen, whether or not the log was read to its end.
    """
    gone = job.phase != SUCCEEDED and isinstance(problem, NotThere) and problem.gone
    if gone or not job.final:
        return gone
    seen = parse_rfc3339(sample.status.end_seen_time or "")
    return seen is not None and (sample.now - seen).total_seconds() >= job.retry_seconds
