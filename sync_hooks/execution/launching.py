"""Launching groups: within the window, and each under a name that nobody else has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sync_hooks.api.request import TRAINING_RUNTIME, Child, Request
from sync_hooks.api.results import Waiting
from sync_hooks.api.sync import Answer, Observed, Reads
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.children import job
from sync_hooks.execution.creation import MOST_NEW_CHILDREN, NEXT_BATCH_SECONDS
from sync_hooks.execution.groups import GroupState, to_launch
from sync_hooks.execution.unseen import GivenUp, look_for
from sync_hooks.execution.waiting import next_look
from sync_hooks.execution.workflow_answer import Step, answer, fail, under_way
from sync_hooks.planning.plan import Plan

NAME_TAKEN = "JobNameCollision"


def launch(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    iteration: int,
    states: Sequence[GroupState],
    draining: Waiting | None,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Ask for the Jobs of groups that may run now; where there are none, show what is waited for.

    ``draining`` is what the pods of a deleted Job still hold.
    """
    chosen = () if draining else to_launch(plan, states, MOST_NEW_CHILDREN)
    if not chosen:
        shown = draining or _first_wait(states)
        resync = next_look(draining, now) if draining else 0
        return answer(request, Step(under_way(status, shown, now), resync_after=resync))
    runtime = request.of(TRAINING_RUNTIME, Child).get(plan.runtime.get("metadata", {}).get("name", ""))
    group, retry = chosen[0]
    first = job(plan, request.parent, runtime, group, iteration, retry)
    waiting = look_for(request, status.waiting, first, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp) and waiting.reason == NAME_TAKEN:
        return _refuse(request, status, group, waiting.message, now)
    if isinstance(waiting, GivenUp):
        return fail(request, status, waiting.reason, waiting.message, now)
    rest = (job(plan, request.parent, runtime, group, iteration, retry) for group, retry in chosen[1:])
    jobs = (first, *rest)
    resync = NEXT_BATCH_SECONDS if len(jobs) >= MOST_NEW_CHILDREN else next_look(waiting, now)
    return answer(request, Step(under_way(status, waiting, now), jobs, resync))


def _refuse(request: Request, status: WorkflowStatus, group: int, message: str, now: datetime) -> Answer:
    """Note that a group cannot run, because its Job's name belongs to somebody else; the others go on."""
    refused = {**(status.refused or {}), str(group): message}
    new = status.model_copy(update={"refused": refused})
    return answer(request, Step(under_way(new, None, now), resync_after=NEXT_BATCH_SECONDS))


def _first_wait(states: Sequence[GroupState]) -> Waiting | None:
    """Show what the first waiting Job waits for; the stamp is the Job's own."""
    for state in states:
        waiting = state.job.status.waiting if state.job and not state.ended else None
        if waiting:
            return Waiting.model_validate({**waiting, "object": f"Job/{state.job.name if state.job else ''}"})
    return None
