"""A Job's answer: its status, every child it has or should have, never a measurement twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import FAILED, SUCCEEDED, set_exclusive
from sync_hooks.api.job import JobStatus
from sync_hooks.api.names import ANNOTATION_ENDED, ANNOTATION_GROUP_NODES, train_job_name
from sync_hooks.api.request import Child, MeasurementChild, Request
from sync_hooks.api.status import read_status, write_status
from sync_hooks.api.sync import Event, Result
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS, stub, transitions
from sync_hooks.execution.waiting import unread


def enter(status: JobStatus, condition: str, reason: str, message: str, now: datetime) -> JobStatus:
    """Make one of InProgress, Succeeded and Failed the Job's state."""
    conditions = set_exclusive(status.conditions or (), condition, reason, message, now)
    return status.model_copy(update={"conditions": list(conditions)})


def fail(request: Request, status: JobStatus, reason: str, message: str, now: datetime) -> Result:
    """End the Job as Failed; settling comes with the next sync."""
    ended = status.model_copy(update={"workload_phase": "Failed", "waiting": None})
    return answer(request, enter(ended, FAILED, reason, message, now), resync_after=1)


def keep_trying(request: Request, status: JobStatus, problem: str, now: datetime) -> Result:
    """Leave everything as it is, and say why: ``problem`` is what the cluster answers where it should be read."""
    waiting = unread(status.waiting, problem, now)
    return answer(request, status.model_copy(update={"waiting": waiting}), resync_after=UNREADABLE_RESYNC_SECONDS)


def group_nodes(request: Request) -> list[str]:
    """Return the nodes that the group is pinned to; empty where the scheduler chooses."""
    annotation = (request.parent.metadata.annotations or {}).get(ANNOTATION_GROUP_NODES, "")
    return [name for name in annotation.split(",") if name]


def answer(
    request: Request,
    status: JobStatus,
    new: Sequence[dict[str, Any]] = (),
    dropped: Collection[str] = (),
    resync_after: float = 0,
    events: Sequence[Event] = (),
) -> Result:
    """Keep every child that is observed but the dropped ones, and ask for the new ones.

    TrainJobs of earlier attempts are dropped in every answer: the one that said so first may not have been carried out.
    An attempt is earlier once the API says so: an answer deletes before what it found out is written down. ``events``
    are told besides those of conditions that became true.
    """
    old = read_status(JobStatus, request.parent.status)
    earlier = {train_job_name(request.parent.metadata.name, attempt) for attempt in range(old.attempt or 0)}
    kept = tuple(_kept(child, status) for child in request.all_children() if child.name not in earlier.union(dropped))
    return Result(
        status=write_status(request.parent.status, status),
        children=(*kept, *new),
        resync_after=resync_after,
        events=(*transitions(old.conditions or (), status.conditions or ()), *events),
    )


def _kept(child: Child, status: JobStatus) -> dict[str, Any]:
    """Keep a child; a measurement is told at once when the workload has ended, else it would find out when it looks.

    What it was told of a workload that goes on is taken back: whoever said so could not write it down.
    """
    kept = stub(child)
    if not isinstance(child, MeasurementChild):
        return kept
    told, before = ending(status), kept["metadata"].get("annotations", {})
    wrong = status.workload_ref is not None and before.get(ANNOTATION_ENDED) == status.workload_ref.uid and not told
    after = {key: text for key, text in before.items() if key != ANNOTATION_ENDED or not wrong} | told
    if after != before:
        kept["metadata"]["annotations"] = after
    return kept


def ending(status: JobStatus) -> dict[str, str]:
    """Return the annotation by which a measurement is told that the current workload has ended, empty before."""
    reference = status.workload_ref
    if reference is None or not reference.uid or status.workload_phase not in (SUCCEEDED, FAILED):
        return {}
    return {ANNOTATION_ENDED: reference.uid}
