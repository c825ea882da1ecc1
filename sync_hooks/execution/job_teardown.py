"""Tearing down a Job with objects of its own: devices and storage must outlive the pods that use them.

Bounded: a pod on a dead node does not keep a namespace from going.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.job import JobStatus
from sync_hooks.api.names import train_job_name
from sync_hooks.api.request import TRAIN_JOB, Child, MeasurementChild, Request, TrainJobChild
from sync_hooks.api.results import Waiting
from sync_hooks.api.status import read_status, write_status
from sync_hooks.api.sync import Answer, ListPods, Observed, Reads, Result, Unreadable
from sync_hooks.execution.answers import stub
from sync_hooks.execution.phase import is_live
from sync_hooks.execution.waiting import wait_within

LOOK_AGAIN_SECONDS = 2
GIVE_UP_SECONDS = 300
TEARING_DOWN = "TearingDown"  # no word of another wait: it would hand on its stamp, and take its time


def tear_down(request: Request, observed: Observed, now: datetime) -> Answer:
    """Drop the TrainJob first, everything else once no pod lives, and be finalized when nothing but results is left.

    Measurements are the Workflow's too, and go with it.
    """
    status = read_status(JobStatus, request.parent.status)
    results = tuple(child for child in request.all_children() if isinstance(child, MeasurementChild))
    if len(results) == len(request.all_children()):
        return _answer(request, status, None, results, finalized=True)
    reads = _pods(request, status)
    if any(read not in observed for read in reads):
        return Reads(reads)
    train_jobs = request.of(TRAIN_JOB, TrainJobChild)
    alive = any(isinstance(observed[read], Unreadable) or any(map(is_live, observed[read])) for read in reads)
    text = "the last pods of the group are going, then its devices and storage"
    waiting = wait_within(GIVE_UP_SECONDS, status.waiting, TEARING_DOWN, text, now)
    if waiting is not None and (train_jobs or alive):
        others = tuple(child for child in request.all_children() if child.name not in train_jobs)
        return _answer(request, status, waiting, others)
    return _answer(request, status, status.waiting, results)


def _answer(
    request: Request, status: JobStatus, waiting: Waiting | None, kept: tuple[Child, ...], *, finalized: bool = False
) -> Result:
    return Result(
        status=write_status(request.parent.status, status.model_copy(update={"waiting": waiting})),
        children=tuple(map(stub, kept)),
        resync_after=0 if finalized else LOOK_AGAIN_SECONDS,
        finalized=finalized,
    )


def _pods(request: Request, status: JobStatus) -> tuple[ListPods, ...]:
    """Read the pods of the current attempt, and of the one before, which may still be going."""
    metadata, attempt = request.parent.metadata, status.attempt or 0
    names = [train_job_name(metadata.name, number) for number in range(max(0, attempt - 1), attempt + 1)]
    return tuple(ListPods(metadata.namespace, name, fresh=True) for name in names)
