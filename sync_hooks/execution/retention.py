"""After the end: where an annotation of the run says so, its Jobs go after a while. Verdict, results and lists stay.

A run that failed halfway, because its plan or a result is gone, drops the Jobs that nobody will judge any more: else
they would keep their nodes for as long as they may run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import FAILED, SUCCEEDED, is_true
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.names import ANNOTATION_RETENTION
from sync_hooks.api.request import JOB, JobChild, Request
from sync_hooks.api.sync import Result
from sync_hooks.api.time import seconds_between
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.answers import keep, stub


def retire(request: Request, status: WorkflowStatus, now: datetime) -> Result:
    """Leave an ended Workflow alone until its Jobs' time is over, then drop those that have released their nodes.

    Jobs that have ended settle and drain by themselves, whether the run failed or not. An annotation that is no
    duration keeps them for ever; so does one that is absent.
    """
    jobs = request.of(JOB, JobChild)
    running = frozenset(job.name for job in jobs.values() if not is_true(job.status.conditions, SUCCEEDED, FAILED))
    if running and is_true(status.conditions or (), FAILED):
        return Result(status=keep(request).status, children=tuple(_others(request, running)))
    period = parse_duration((request.parent.metadata.annotations or {}).get(ANNOTATION_RETENTION, ""))
    if period is None or period < 0 or not jobs:
        return keep(request)
    left = period - (seconds_between(status.completion_time, now) or 0.0)
    if left > 0:
        return keep(request, left + 1)
    over = frozenset(job.name for job in jobs.values() if job.status.settled and job.status.drained)
    return Result(status=keep(request).status, children=tuple(_others(request, over)))


def _others(request: Request, jobs: frozenset[str]) -> Iterator[dict[str, Any]]:
    return (stub(child) for child in request.all_children() if child.kind != "Job" or child.name not in jobs)
