"""Asking for objects that are not there yet: at most so many an answer, looked for until they are seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sync_hooks.api.request import Request
from sync_hooks.api.sync import Answer, Observed, Reads
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.unseen import GivenUp, look_again, look_for
from sync_hooks.execution.workflow_answer import Step, answer, fail, under_way

MOST_NEW_CHILDREN = 100  # an answer is one blind spot: while its children are made, nothing else is seen
NEXT_BATCH_SECONDS = 1


def create(
    request: Request, status: WorkflowStatus, objects: Sequence[dict[str, Any]], observed: Observed, now: datetime
) -> Answer:
    """Ask for objects that are not observed, and show what is waited for; fail where they cannot be made."""
    waiting = look_for(request, status.waiting, objects[0], observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return fail(request, status, waiting.reason, waiting.message, now)
    return answer(
        request, Step(under_way(status, waiting, now), tuple(objects), look_again(waiting, now), pressing=True)
    )
