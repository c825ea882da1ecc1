"""A workload that prints no step any more: by its goodput measurement, and only where that has been reading.

Counted from when a step was first seen: a node's clock and ours may differ by more than a stall may last. Nothing that
was seen before the pods started counts: a workload that was held back, or made anew, may start up once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sync_hooks.api.job import JobSpec
from sync_hooks.api.request import Request
from sync_hooks.api.time import parse_rfc3339, seconds_between
from sync_hooks.execution.job_restart import goodput_of, sample_seconds

DEFAULT_STARTUP_STALL_SECONDS = 1200


@dataclass(frozen=True, slots=True)
class Stall:
    """How long no step has come, for people, and how many seconds that is more than is allowed."""

    text: str
    overdue: float


def find_stall(request: Request, spec: JobSpec, started: str | None, now: datetime) -> Stall | None:
    """Say how long no step has come, None where that is no stall or cannot be known.

    ``started`` tells when the last one of the pods that run now was started; None where not all run, or nobody can see.
    """
    start = parse_rfc3339(started or "")
    if spec.stall_multiplier is None or spec.goodput_measurement is None or start is None:
        return None
    status, interval = goodput_of(request), sample_seconds(spec)
    last_look = seconds_between(status.last_sample_time, now)
    if last_look is None or last_look > 2 * interval:
        return None
    since = (status.run.step_seen_time if status.run else None) or status.last_step_timestamp
    seen = parse_rfc3339(since or "")
    if status.last_step_timestamp and status.avg_step_time_sec and seen and seen >= start:
        steps = spec.stall_multiplier * max(status.log_interval or 1, 1)
        return _late(seen, steps * status.avg_step_time_sec + 2 * interval, "no step", now)
    limit = spec.startup_stall_timeout_seconds or DEFAULT_STARTUP_STALL_SECONDS
    began = max(start, parse_rfc3339(status.application_start_time or "") or start)
    return _late(began, limit + 2 * interval, "no first step", now)


def _late(since: datetime, limit: float, what: str, now: datetime) -> Stall | None:
    quiet = (now - since).total_seconds()
    text = f"{what} for {timedelta(seconds=int(quiet))}, allowed are {int(limit)} s"
    return Stall(text, quiet - limit) if quiet > limit else None
