"""Tearing down a Job with objects of its own: devices and storage must outlive the pods that use them.

Bounded: a pod on a dead node does not keep a namespace from going.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.job import JobStatus
from sync_hooks.api.names import train_job_name
from sync_hooks.api.request import TRAIN_JOB, Request, TrainJobChild
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, ListPods, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import seconds_between
from sync_hooks.execution.answers import stub
from sync_hooks.execution.job_settle import DRAIN_GIVE_UP_SECONDS
from sync_hooks.execution.phase import is_live

LOOK_AGAIN_SECONDS = 2


def tear_down(request: Request, observed: Observed, now: datetime) -> Answer:
    """Drop the TrainJob first, everything else once no pod lives, and be finalized when nothing is left."""
    status = request.parent.status if isinstance(request.parent.status, dict) else {}
    if not request.all_children():
        return Result(status=status, finalized=True)
    train_jobs = request.of(TRAIN_JOB, TrainJobChild)
    pods = _pods(request)
    if pods not in observed:
        return Reads((pods,))
    late = (seconds_between(request.parent.metadata.deletion_timestamp, now) or 0) > DRAIN_GIVE_UP_SECONDS
    alive = isinstance(observed[pods], Unreadable) or any(is_live(pod) for pod in observed[pods])
    if (train_jobs or alive) and not late:
        kept = tuple(stub(child) for child in request.all_children() if child.name not in train_jobs)
        return Result(status=status, children=kept, resync_after=LOOK_AGAIN_SECONDS)
    return Result(status=status, children=(), resync_after=LOOK_AGAIN_SECONDS)


def _pods(request: Request) -> ListPods:
    status = read_status(JobStatus, request.parent.status)
    name = status.workload_ref.name if status.workload_ref else train_job_name(request.parent.metadata.name, 0)
    return ListPods(request.parent.metadata.namespace, name, fresh=True)
