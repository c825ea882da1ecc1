"""Asking for objects that exist once a run or an iteration: looked for until they are seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sync_hooks.api.request import Request
from sync_hooks.api.sync import Answer, Observed, Reads
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.unseen import GivenUp, look_again, look_for
from sync_hooks.execution.workflow_answer import Step, answer, fail, under_way


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
