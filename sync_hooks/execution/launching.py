"""Launching groups: within the window, and each under a name that nobody else has.

Where Jobs cannot be made launching stops for this iteration. Those under way go on: what they find is worth having.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sync_hooks.api.request import TRAINING_RUNTIME, Child, Request
from sync_hooks.api.results import Waiting
from sync_hooks.api.sync import Answer, Observed, Reads
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.children import job
from sync_hooks.execution.groups import LAUNCHING_STOPPED, GroupState, to_launch, wants_job
from sync_hooks.execution.lost import Lost
from sync_hooks.execution.ranges import write_ranges
from sync_hooks.execution.unseen import GivenUp, look_again, look_for
from sync_hooks.execution.waiting import next_look
from sync_hooks.execution.workflow_answer import Step, answer, under_way
from sync_hooks.planning.plan import Plan

NAME_TAKEN = "JobNameCollision"
MOST_NEW_CHILDREN = 100  # an answer is one blind spot: while its children are made, nothing else is seen
NEXT_BATCH_SECONDS = 1


def launch(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    iteration: int,
    states: Sequence[GroupState],
    lost: Lost,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Ask for the Jobs of groups that may run now; where there are none, show what is waited for.

    While pods of a deleted Job hold their nodes nothing is launched.
    """
    chosen = () if lost.waiting else to_launch(plan, states, MOST_NEW_CHILDREN)
    if not chosen:
        shown = lost.waiting or lost.unread
        resync = next_look(shown, now) if shown else 0
        return answer(request, Step(under_way(status, shown or _first_wait(states), now), resync_after=resync))
    runtime = request.of(TRAINING_RUNTIME, Child).get(plan.runtime.get("metadata", {}).get("name", ""))
    group, retry = chosen[0]
    first = job(plan, request.parent, runtime, group, iteration, retry)
    waiting = look_for(request, status.waiting, first, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp) and waiting.reason == NAME_TAKEN:
        return _refuse(request, status, (group,), waiting.message, now)
    if isinstance(waiting, GivenUp):
        rest_of_them = [state.number for state in states if wants_job(state, plan)]
        return _refuse(request, status, rest_of_them, f"{LAUNCHING_STOPPED}: {waiting.message}", now)
    rest = (job(plan, request.parent, runtime, group, iteration, retry) for group, retry in chosen[1:])
    jobs = (first, *rest)
    more = len(jobs) >= MOST_NEW_CHILDREN
    resync = NEXT_BATCH_SECONDS if more else look_again(waiting, now)
    return answer(request, Step(under_way(status, waiting, now), jobs, resync, pressing=more))


def _refuse(request: Request, status: WorkflowStatus, groups: Collection[int], message: str, now: datetime) -> Answer:
    """Note that groups cannot run, because their Jobs cannot be made; the others go on."""
    refused = {**(status.refused or {}), write_ranges(groups): message}
    new = status.model_copy(update={"refused": refused})
    return answer(request, Step(under_way(new, None, now), resync_after=NEXT_BATCH_SECONDS))


def _first_wait(states: Sequence[GroupState]) -> Waiting | None:
    """Show what the first waiting Job waits for; the stamp is the Job's own."""
    for state in states:
        if state.job and state.job.status.waiting and not state.ended:
            told = state.job.status.waiting
            return Waiting(reason=told.reason, message=told.message, since=told.since, object=f"Job/{state.job.name}")
    return None
