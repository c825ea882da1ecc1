"""A Workflow's answer: its status, every child that is still wanted, events for what became true."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import FAILED, IN_PROGRESS, set_exclusive
from sync_hooks.api.names import job_key
from sync_hooks.api.request import Child, Request
from sync_hooks.api.results import Coverage, Waiting
from sync_hooks.api.status import read_status, write_status
from sync_hooks.api.sync import Result
from sync_hooks.api.time import rfc3339
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS, stub, transitions
from sync_hooks.execution.waiting import unread

NEXT_STEP_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Step:
    """What a sync came to: the status, new objects that should exist, and when to look again."""

    status: WorkflowStatus
    new: tuple[dict[str, Any], ...] = ()
    resync_after: float = 0
    pressing: bool = False
    """Nothing else goes on meanwhile."""


def answer(request: Request, step: Step) -> Result:
    """Keep every child but Jobs of iterations whose result stands in the status that the API has."""
    old = read_status(WorkflowStatus, request.parent.status)
    finished = len(old.iterations or ())
    last = old.progress.iterations if old.progress else 0
    kept = tuple(stub(child) for child in request.all_children() if not _is_over(child, finished, last))
    return Result(
        status=write_status(request.parent.status, step.status),
        children=(*kept, *step.new),
        resync_after=step.resync_after,
        events=transitions(old.conditions or (), step.status.conditions or ()),
        pressing=step.pressing,
    )


def in_progress(status: WorkflowStatus, reason: str, message: str, now: datetime) -> WorkflowStatus:
    """Say that the Workflow is under way, and how."""
    conditions = set_exclusive(status.conditions or (), IN_PROGRESS, reason, message, now)
    return status.model_copy(update={"conditions": list(conditions)})


def under_way(status: WorkflowStatus, waiting: Waiting | None, now: datetime) -> WorkflowStatus:
    """Say how many groups are done, and what is waited for."""
    done = status.progress.succeeded + status.progress.failed if status.progress else 0
    text = f"{done} of {status.progress.groups} groups done" if status.progress else "planned"
    return in_progress(status.model_copy(update={"waiting": waiting}), "JobRunning", text, now)


def keep_trying(request: Request, status: WorkflowStatus, problem: str, now: datetime) -> Result:
    """Leave everything as it is, and say why: ``problem`` is what the cluster answers where it should be read."""
    waiting = unread(status.waiting, problem, now)
    return answer(request, Step(status.model_copy(update={"waiting": waiting}), (), UNREADABLE_RESYNC_SECONDS))


def fail(request: Request, status: WorkflowStatus, reason: str, message: str, now: datetime) -> Result:
    """End the Workflow without node lists: nothing is known of any node that was not left out.

    Its running Jobs go with the next sync, once the API has the verdict: an answer deletes before it is written down.
    """
    conditions = set_exclusive(status.conditions or (), FAILED, reason, message, now)
    update = {
        "conditions": list(conditions),
        "coverage": nothing_known(status.coverage),
        "waiting": None,
        "completion_time": rfc3339(now),
    }
    return answer(request, Step(status.model_copy(update=update), resync_after=NEXT_STEP_SECONDS))


def nothing_known(coverage: Coverage | None) -> Coverage | None:
    """Count every node that was not left out as one without a verdict."""
    if coverage is None:
        return None
    return coverage.model_copy(update={"tested": 0, "inconclusive": coverage.targeted - coverage.excluded})


def _is_over(child: Child, finished: int, last: int) -> bool:
    """Tell whether a Job belongs to an iteration before the last one and its result has been observed."""
    if not finished or child.kind != "Job":
        return False
    key = job_key(child.name)
    return key is not None and key.iteration <= finished and key.iteration < last
