"""What both measurements do around their reading: when a sample is due, what a status says, how a measurement ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import ValidationError

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementSpec, BandwidthMeasurementStatus
from sync_hooks.api.conditions import COMPLETE, MEASURING, set_condition
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec, GoodputMeasurementStatus
from sync_hooks.api.model import GROUP, Duration
from sync_hooks.api.observed import LiveObject, Log
from sync_hooks.api.request import Request
from sync_hooks.api.status import write_status
from sync_hooks.api.sync import GetLogProfile, GetObject, Observed, Read, ReadLog, Reads, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339
from sync_hooks.measurements.pods import Source
from sync_hooks.measurements.subject import job_read

DEFAULT_INTERVAL_SECONDS = 60
LONGEST_INTERVAL_SECONDS = 120  # the end of a Job must be noticed while its pods still exist
WAITING_RESYNC_SECONDS = 15  # for a Job to start, for what cannot be read
STALE_RESYNC_SECONDS = 0.5  # the caches catch up within one watch event
NEXT_PAGE_RESYNC_SECONDS = 1

JOB_RUNNING = "JobRunning"
JOB_SUCCEEDED = "JobSucceeded"
JOB_FAILED = "JobFailed"
NO_DATA = "NoDataCollected"
LOGS_UNAVAILABLE = "LogsUnavailable"
FINAL_READ_PENDING = "FinalReadPending"
INVALID_SPEC = "InvalidSpec"

Spec = BandwidthMeasurementSpec | GoodputMeasurementSpec
SpecT = TypeVar("SpecT", BandwidthMeasurementSpec, GoodputMeasurementSpec)
StatusT = TypeVar("StatusT", BandwidthMeasurementStatus, GoodputMeasurementStatus)


def read_spec(model: type[SpecT], raw: Any) -> SpecT | str:
    """Parse a spec, or say with field paths what is wrong with it."""
    try:
        spec = model.model_validate(raw)
    except ValidationError as error:
        return "; ".join(f"spec.{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
    ref, seconds = spec.job_ref, parse_duration(spec.sample_interval) if spec.sample_interval else 1
    if ref.kind != "Job" or ref.api_group != GROUP or not ref.name:
        return f"spec.jobRef: must name a Job of {GROUP}"
    if seconds is None or seconds <= 0:
        return f"spec.sampleInterval: {spec.sample_interval!r} is no duration above 0, for example 60s"
    return spec


def interval(text: Duration | None) -> float:
    """Return the seconds between two samples."""
    seconds = parse_duration(text) if text else None
    return min(seconds if seconds else DEFAULT_INTERVAL_SECONDS, LONGEST_INTERVAL_SECONDS)


def seconds_left(last_sample: str | None, seconds: float, now: datetime) -> float:
    """Return how long it is until the next sample is due; a stamp from the future does not count."""
    last = parse_rfc3339(last_sample) if last_sample else None
    if last is None or last > now:
        return 0
    return max((last + timedelta(seconds=seconds) - now).total_seconds(), 0)


def first_reads(request: Request, spec: Spec) -> tuple[Read, ...]:
    """Return what every sample starts with: the Job as it is now, and the LogProfile."""
    return (job_read(request.parent.metadata.namespace, spec.job_ref.name), GetLogProfile(spec.log_profile_ref))


def own_read(request: Request) -> GetObject:
    """Return the read that shows the measurement as it is now, not as the caches had it."""
    parent = request.parent
    return GetObject(parent.api_version, parent.kind, parent.metadata.name, parent.metadata.namespace)


def outdated(request: Request, observed: Observed) -> Result | Reads | None:
    """Answer for a request that is older than the measurement; None for one that shows it as it is.

    Asked before a measurement is completed: the caches may lag behind the completion that was written a moment ago, and
    the logs it came from may be gone.
    """
    read = own_read(request)
    if read not in observed:
        return Reads((read,))
    live: LiveObject | Unreadable | None = observed[read]
    if isinstance(live, Unreadable):
        return unchanged(request, WAITING_RESYNC_SECONDS)
    if live is None or live.metadata.uid != request.parent.metadata.uid:
        return unchanged(request)
    if live.metadata.resource_version != request.parent.metadata.resource_version:
        return Result(status=dict(live.status), resync_after=STALE_RESYNC_SECONDS)
    return None


def log_read(request: Request, source: Source, since: str | None, limit_bytes: int) -> ReadLog:
    """Return the read of one page of a log."""
    namespace = request.parent.metadata.namespace
    return ReadLog(namespace, source.pod, source.container, since=since, limit_bytes=limit_bytes)


def pages(reads: tuple[ReadLog, ...], observed: Observed) -> tuple[Log, ...] | Unreadable | Reads:
    """Return the pages that were read; one that could not be read stands for all."""
    if any(read not in observed for read in reads):
        return Reads(reads)
    found: list[Log] = []
    for read in reads:
        page: Log | Unreadable = observed[read]
        if isinstance(page, Unreadable):
            return page
        found.append(page)
    return tuple(found)


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


def complete(status: StatusT, reason: str, message: str, end: datetime | None, now: datetime) -> StatusT:
    """Say that the measurement is over. ``end`` is when the workload ended."""
    conditions = set_condition(status.conditions or (), MEASURING, "False", reason, message, now)
    conditions = set_condition(conditions, COMPLETE, "True", reason, message, now)
    return status.model_copy(
        update={"conditions": list(conditions), "completion_time": rfc3339(end or now), "end_seen_time": None}
    )


def end_seen(known: str | None, now: datetime) -> str:
    """Return when the end of the workload was first seen: now, unless an earlier sync saw it."""
    seen = parse_rfc3339(known) if known else None
    return rfc3339(min(seen, now) if seen else now)


def retry_is_over(end_seen: str | None, seconds: float, now: datetime) -> bool:
    """Tell whether logs have been tried for long enough since the end of the workload was seen."""
    seen = parse_rfc3339(end_seen) if end_seen else None
    return seen is not None and (now - seen).total_seconds() >= seconds
