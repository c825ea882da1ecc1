"""Jobs that were seen and are not there now: only a live 404 is a deletion, and only pods that are gone free nodes.

A deleted Job is never made again: its group has failed and says nothing of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sync_hooks.api.names import job_name, train_job_name
from sync_hooks.api.request import Request
from sync_hooks.api.results import Waiting
from sync_hooks.api.sync import GetObject, ListPods, Observed, Read, Reads, Unreadable
from sync_hooks.api.trainer import JOBSET_VERSION, TRAINER_VERSION
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.groups import GroupState
from sync_hooks.execution.phase import is_live
from sync_hooks.execution.waiting import NOT_READ, READ_FAILING, wait, wait_within
from sync_hooks.planning.plan import Plan

PODS_GIVE_UP_SECONDS = 300  # a pod on a dead node must not hold the run for ever
READS_AN_ATTEMPT = 3
MOST_READS = 400  # of traces, an answer; those of one Job at least, whose attempts may be more than a hundred
MOST_AT_ONCE = 20  # lookups an answer: who deletes all Jobs of a run does not need to be followed at once


@dataclass(frozen=True, slots=True)
class Lost:
    """Numbers of the groups whose Job is gone for good, and what of others is still to go."""

    groups: frozenset[int] = frozenset()
    waiting: Waiting | None = None
    unread: Waiting | None = None
    """Of a Job that is not seen it is not known whether it is there."""


def look_for_lost(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    iteration: int,
    states: Sequence[GroupState],
    observed: Observed,
    now: datetime,
) -> Reads | Lost:
    """Tell Jobs that somebody deleted from Jobs that the cache does not show."""
    missing = [state for state in states if state.missing][:MOST_AT_ONCE]
    names = {state.number: job_name(plan.prefix, state.number, iteration, state.seen) for state in missing}
    namespace = request.parent.metadata.namespace
    jobs = {number: GetObject(request.parent.api_version, "Job", name, namespace) for number, name in names.items()}
    if any(read not in observed for read in jobs.values()):
        return Reads(tuple(jobs.values()))
    gone = [number for number, read in jobs.items() if observed[read] is None]
    deleted = {number: names[number] for number in gone[: _room(plan)]}
    traces = {number: _traces(namespace, name, _attempts(plan)) for number, name in deleted.items()}
    wanted = [read for reads in traces.values() for read in reads if read not in observed]
    if wanted:
        return Reads(tuple(wanted))
    left = [number for number, reads in traces.items() if any(_is_left(observed[read]) for read in reads)]
    rest = [names[number] for number in gone if number not in deleted]
    unread = _unread(status, jobs.values(), observed, now) or _not_yet(status, rest, now)
    return replace(_judge(status, deleted, left, now), unread=unread)


def _not_yet(status: WorkflowStatus, rest: Sequence[str], now: datetime) -> Waiting | None:
    """Say that other deleted Jobs come next: what they left behind has not been looked for."""
    if not rest:
        return None
    object_ = f"Job/{rest[0]}"
    return wait(status.waiting, "DeletedJobDraining", f"{object_} was deleted: its pods are looked for", now, object_)


def _unread(status: WorkflowStatus, jobs: Iterable[GetObject], observed: Observed, now: datetime) -> Waiting | None:
    for read in jobs:
        found = observed[read]
        if isinstance(found, Unreadable):
            text = f"Job {read.name} is not seen, and {NOT_READ}{found.reason}"
            return wait(status.waiting, READ_FAILING, text, now, f"Job/{read.name}")
    return None


def _judge(status: WorkflowStatus, deleted: dict[int, str], left: list[int], now: datetime) -> Lost:
    if not left:
        return Lost(frozenset(deleted))
    object_ = f"Job/{deleted[left[0]]}"
    text = f"{object_} was deleted: its last pods are going"
    waiting = wait_within(PODS_GIVE_UP_SECONDS, status.waiting, "DeletedJobDraining", text, now, object_)
    if waiting is not None:
        return Lost(frozenset(deleted) - frozenset(left), waiting)
    rest = wait(None, "DeletedJobDraining", text, now, f"Job/{deleted[left[1]]}") if len(left) > 1 else None
    return Lost(frozenset(deleted) - frozenset(left[1:]), rest)


def _room(plan: Plan) -> int:
    """Return of how many Jobs the traces are read in one answer."""
    return max(1, MOST_READS // (READS_AN_ATTEMPT * _attempts(plan)))


def _attempts(plan: Plan) -> int:
    checkpoint = plan.job["spec"].get("checkpoint") or {}
    return 1 + int(checkpoint.get("maxRestarts") or 0)


def _traces(namespace: str, job: str, attempts: int) -> tuple[Read, ...]:
    """Read what a Job's attempts may have left: where neither TrainJob nor JobSet is there, no pod will be made."""
    found: list[Read] = []
    for attempt in range(attempts):
        name = train_job_name(job, attempt)
        found += [GetObject(TRAINER_VERSION, "TrainJob", name, namespace)]
        found += [GetObject(JOBSET_VERSION, "JobSet", name, namespace), ListPods(namespace, name, fresh=True)]
    return tuple(found)


def _is_left(found: Any) -> bool:
    if isinstance(found, Unreadable):
        return True
    return any(is_live(pod) for pod in found) if isinstance(found, tuple) else found is not None
