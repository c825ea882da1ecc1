"""How long a workload may run, and that its time is over."""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.duration import parse_duration
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.time import rfc3339, seconds_between
from sync_hooks.execution.phase import FAILED

DEFAULT_TIMEOUT_SECONDS = 24 * 3600


def limit_of(spec: JobSpec) -> float:
    """Return the seconds that a workload may run."""
    limit = parse_duration(spec.timeout) if spec.timeout else None
    return DEFAULT_TIMEOUT_SECONDS if limit is None else limit


def seconds_left(spec: JobSpec, started: str, now: datetime) -> float:
    """Return the seconds that a workload has left that ``started`` then (RFC 3339), negative once its time is over."""
    return limit_of(spec) - (seconds_between(started, now) or 0.0)


def overtime(spec: JobSpec) -> str:
    """Say that a workload's time is over."""
    return f"the workload ran longer than {spec.timeout or '24h'}"


def over(status: JobStatus, now: datetime) -> JobStatus:
    """Return the status of a workload that is ended now."""
    return status.model_copy(update={"workload_phase": FAILED, "workload_end_time": rfc3339(now)})
