"""After the end: where an annotation of the run says so, its Jobs go after a while. Verdict, results and lists stay.

A run that failed halfway, because its plan or a result is gone, drops the Jobs that nobody will judge any more: else
they would keep their nodes for as long as they may run. One that has ended keeps what it found, and settles by itself:
so a Job is read live before it is dropped, because a cache may not know of its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import FAILED, SUCCEEDED, is_true
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.job import JobStatus
from sync_hooks.api.names import ANNOTATION_RETENTION
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import JOB, JobChild, Request
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, GetObject, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import seconds_between
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS, keep, stub
from sync_hooks.execution.workflow_answer import NEXT_STEP_SECONDS

MOST_AT_ONCE = 20  # Jobs read an answer: as many are let go a second, and nothing waits for them


def retire(request: Request, status: WorkflowStatus, observed: Observed, now: datetime) -> Answer:
    """Leave an ended Workflow alone until its Jobs' time is over, then drop those that have released their nodes.

    Jobs that have ended settle and drain by themselves, whether the run failed or not. An annotation that is no
    duration keeps them for ever; so does one that is absent.
    """
    jobs = request.of(JOB, JobChild)
    running = [job.name for job in jobs.values() if _seems_under_way(job)]
    if running and is_true(status.conditions or (), FAILED):
        return _let_go(request, sorted(running), observed)
    period = parse_duration((request.parent.metadata.annotations or {}).get(ANNOTATION_RETENTION, ""))
    if period is None or period < 0 or not jobs:
        return keep(request)
    left = period - (seconds_between(status.completion_time, now) or 0.0)
    if left > 0:
        return keep(request, left + 1)
    return _without(request, frozenset(job.name for job in jobs.values() if job.status.settled and job.status.drained))


def _seems_under_way(job: JobChild) -> bool:
    """Tell whether a cache shows neither an end nor that the Job is being deleted already."""
    return not job.metadata.deletion_timestamp and not is_true(job.status.conditions, SUCCEEDED, FAILED)


def _let_go(request: Request, running: Sequence[str], observed: Observed) -> Answer:
    """Drop the Jobs that are under way when they are read live, some at a time; what cannot be read is asked again."""
    parent = request.parent
    names = running[:MOST_AT_ONCE]
    reads = tuple(GetObject(parent.api_version, "Job", name, parent.metadata.namespace) for name in names)
    if any(read not in observed for read in reads):
        return Reads(reads)
    resync = NEXT_STEP_SECONDS if len(running) > MOST_AT_ONCE else 0
    if any(isinstance(observed[read], Unreadable) for read in reads):
        resync = UNREADABLE_RESYNC_SECONDS
    return _without(request, frozenset(read.name for read in reads if _is_under_way(observed[read])), resync)


def _is_under_way(found: LiveObject | Unreadable | None) -> bool:
    if not isinstance(found, LiveObject):
        return False
    return not is_true(read_status(JobStatus, found.status).conditions or (), SUCCEEDED, FAILED)


def _without(request: Request, jobs: frozenset[str], resync_after: float = 0) -> Result:
    return Result(status=keep(request).status, children=tuple(_others(request, jobs)), resync_after=resync_after)


def _others(request: Request, jobs: frozenset[str]) -> Iterator[dict[str, Any]]:
    return (stub(child) for child in request.all_children() if child.kind != "Job" or child.name not in jobs)
