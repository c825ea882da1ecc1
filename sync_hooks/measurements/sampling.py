"""When a sample of a measurement is due, from what it starts, and what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementSpec
from sync_hooks.api.conditions import COMPLETE, INVALID_SPEC, is_true
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec
from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.model import GROUP, Duration
from sync_hooks.api.names import ANNOTATION_ENDED
from sync_hooks.api.observed import Log
from sync_hooks.api.request import Request
from sync_hooks.api.spec import read_spec
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, Busy, GetLogProfile, Observed, ReadLog, Reads, Unreadable
from sync_hooks.api.time import parse_rfc3339
from sync_hooks.measurements.answering import answer, measuring, unchanged
from sync_hooks.measurements.page import page_bytes, since
from sync_hooks.measurements.pods import Source
from sync_hooks.measurements.sample import Sample, SpecT, StatusT
from sync_hooks.measurements.subject import Gone, JobState, job_read

DEFAULT_INTERVAL_SECONDS = 60
LONGEST_INTERVAL_SECONDS = 120  # the end of a Job must be noticed while its pods still exist


def begin(
    request: Request, spec_model: type[SpecT], status_model: type[StatusT], observed: Observed, now: datetime
) -> Sample[SpecT, StatusT] | Answer:
    """Parse a request; answer it where nothing is to be done now, or where Job and profile are still to be read."""
    status = read_status(status_model, request.parent.status)
    if is_true(status.conditions or (), COMPLETE) or request.parent.metadata.deletion_timestamp:
        return unchanged(request)
    spec = read_spec(spec_model, request.parent.spec)
    if isinstance(spec, Busy):
        return spec
    if isinstance(spec, str) or (problem := _problem(spec)):
        said = spec if isinstance(spec, str) else problem
        return answer(request, measuring(status, "False", INVALID_SPEC, said, now))
    left = seconds_left(status.last_sample_time, interval(spec.sample_interval), now)
    if left > 0 and not _is_told(request, status.workload_uid):
        return unchanged(request, left)
    namespace = request.parent.metadata.namespace
    reads = (job_read(namespace, spec.job_ref.name), GetLogProfile(spec.log_profile_ref))
    if any(read not in observed for read in reads):
        return Reads(reads)
    return Sample(request, spec, status, observed, now)


def _problem(spec: BandwidthMeasurementSpec | GoodputMeasurementSpec) -> str:
    """Say what is wrong with a spec that has the right shape; empty where nothing is."""
    ref, seconds = spec.job_ref, parse_duration(spec.sample_interval) if spec.sample_interval else 1
    if ref.kind != "Job" or ref.api_group != GROUP or not ref.name:
        return f"spec.jobRef: must name a Job of {GROUP}"
    if seconds is None or seconds <= 0:
        return f"spec.sampleInterval: {spec.sample_interval!r} is no duration above 0, for example 60s"
    return ""


def interval(text: Duration | None) -> float:
    """Return the seconds between two samples."""
    seconds = parse_duration(text) if text else None
    return min(seconds if seconds else DEFAULT_INTERVAL_SECONDS, LONGEST_INTERVAL_SECONDS)


def _is_told(request: Request, workload_uid: str | None) -> bool:
    """Tell whether the Job has said that this workload has ended: then nothing waits for the next sample."""
    return bool(workload_uid) and (request.parent.metadata.annotations or {}).get(ANNOTATION_ENDED) == workload_uid


def is_early(sample: Sample[SpecT, StatusT], job: JobState | Gone) -> bool:
    """Tell whether this sync is due only by an end of which nothing is written down yet.

    Nor may be whose end it is. It may never be: a word that was given and lost is no reason to read no more.
    """
    told = (sample.request.parent.metadata.annotations or {}).get(ANNOTATION_ENDED)
    if isinstance(job, Gone) or job.ended or not told or job.workload_uid not in ("", told):
        return False
    since = sample.status.last_sample_time or sample.request.parent.metadata.creation_timestamp
    return seconds_left(since, interval(sample.spec.sample_interval), sample.now) > 0


def seconds_left(last_sample: str | None, seconds: float, now: datetime) -> float:
    """Return how long it is until the next sample is due; a stamp from the future does not count."""
    last = parse_rfc3339(last_sample) if last_sample else None
    if last is None or last > now:
        return 0
    return max((last + timedelta(seconds=seconds) - now).total_seconds(), 0)


def log_reads(namespace: str, found: Sequence[Source], cursors: Sequence[LogCursor]) -> tuple[ReadLog, ...]:
    """Return the reads of the next page of each log."""
    return tuple(
        ReadLog(namespace, source.pod, source.container, since=since(cursor), limit_bytes=page_bytes(cursor))
        for source, cursor in zip(found, cursors, strict=True)
    )


def pages(reads: tuple[ReadLog, ...], observed: Observed) -> tuple[Log | Unreadable, ...] | Reads:
    """Return the page of each log, or why it cannot be read."""
    if any(read not in observed for read in reads):
        return Reads(reads)
    return tuple(observed[read] for read in reads)
