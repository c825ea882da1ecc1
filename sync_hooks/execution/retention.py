"""After the end: where an annotation of the run says so, its Jobs go after a while. Verdict, results and lists stay."""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.duration import parse_duration
from sync_hooks.api.names import ANNOTATION_RETENTION
from sync_hooks.api.request import JOB, Child, JobChild, Request
from sync_hooks.api.sync import Result
from sync_hooks.api.time import seconds_between
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.answers import keep, stub


def retire(request: Request, status: WorkflowStatus, now: datetime) -> Result:
    """Leave an ended Workflow alone until its Jobs' time is over, then drop those that have released their nodes.

    An annotation that is no duration keeps them for ever; so does one that is absent.
    """
    jobs = request.of(JOB, JobChild)
    period = parse_duration((request.parent.metadata.annotations or {}).get(ANNOTATION_RETENTION, ""))
    if period is None or period < 0 or not jobs:
        return keep(request)
    left = period - (seconds_between(status.completion_time, now) or 0.0)
    if left > 0:
        return keep(request, left + 1)
    kept: list[Child] = [child for child in request.all_children() if child.kind != "Job"]
    kept += [job for job in jobs.values() if not (job.status.settled and job.status.drained)]
    return Result(status=keep(request).status, children=tuple(map(stub, kept)))
