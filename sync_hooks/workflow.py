"""The story of a Workflow: plan once, see the plan, then follow it to the end.

Order: an ended Workflow is left alone; without a plan one is made (`execution.planning_step`); a plan is followed only
once it has been observed and its hash stands in the status; then objects that exist once a run, Jobs within the window,
the result of an iteration, the next iteration, the node lists, the end. Nothing is ever detected or decided twice.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import FAILED, SUCCEEDED, is_true
from sync_hooks.api.names import plan_name
from sync_hooks.api.request import CONFIG_MAP, JOB, TRAINING_RUNTIME, Child, ConfigMapChild, JobChild, Request
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, Busy, Observed, Reads
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.answers import keep
from sync_hooks.execution.creation import create
from sync_hooks.execution.groups import group_states, is_over, remember, with_lost
from sync_hooks.execution.iteration_end import close_iteration, end
from sync_hooks.execution.launching import launch
from sync_hooks.execution.lost import look_for_lost
from sync_hooks.execution.plan_seen import note_plan, read_plan
from sync_hooks.execution.planning_step import make_plan
from sync_hooks.execution.retention import retire
from sync_hooks.execution.running import show_progress
from sync_hooks.execution.workflow_answer import Step, answer, fail
from sync_hooks.planning.plan import PLAN_VERSION, Plan


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a Workflow."""
    status = read_status(WorkflowStatus, request.parent.status)
    if request.parent.metadata.deletion_timestamp:
        return keep(request)
    if is_true(status.conditions or (), SUCCEEDED, FAILED):
        return retire(request, status, observed, now)
    stored = request.of(CONFIG_MAP, ConfigMapChild).get(plan_name(request.parent.metadata.name))
    if stored is None:
        return make_plan(request, status, observed, now)
    plan, digest = read_plan(stored, status.plan.sha256 if status.plan else "")
    if plan is None:
        return fail(request, status, "PlanLost", f"ConfigMap {stored.name} does not hold the plan of this run", now)
    if plan.version != PLAN_VERSION:
        return Busy(f"the plan has version {plan.version}, this hook follows version {PLAN_VERSION}")
    if status.plan is None:
        return answer(request, Step(note_plan(status, stored.name, digest, plan), resync_after=1))
    return _follow(request, status, plan, observed, now)


def _follow(request: Request, status: WorkflowStatus, plan: Plan, observed: Observed, now: datetime) -> Answer:
    if missing := _missing_once(request, plan):
        return create(request, status, missing, observed, now)
    iteration = len(status.iterations or ()) + 1
    if iteration > plan.iterations:
        return end(request, status, plan, observed, now)
    states = group_states(plan, iteration, request.of(JOB, JobChild), status)
    lost = look_for_lost(request, status, plan, iteration, states, observed, now)
    if isinstance(lost, Reads):
        return lost
    states = with_lost(states, lost.groups)
    status = show_progress(request, remember(status, states), plan, iteration, states, now)
    if status.progress is not None and is_over(status.progress):
        closed = close_iteration(request, status, plan, iteration, states, observed, now)
        return _follow(request, closed, plan, observed, now) if isinstance(closed, WorkflowStatus) else closed
    return launch(request, status, plan, iteration, states, lost, observed, now)


def _missing_once(request: Request, plan: Plan) -> tuple[dict[str, Any], ...]:
    """Objects that exist once a run and are not observed: Trainer refuses a TrainJob whose runtime is not there."""
    runtimes, config_maps = request.of(TRAINING_RUNTIME, Child), request.of(CONFIG_MAP, ConfigMapChild)
    wanted = ((plan.runtime, runtimes), *((object_, config_maps) for object_ in plan.shared))
    return tuple(object_ for object_, seen in wanted if object_ and object_["metadata"]["name"] not in seen)
