"""What a run shows while it is under way: counts of groups, and the figures of those that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sync_hooks.api.request import Request
from sync_hooks.api.results import Progress, Results
from sync_hooks.api.time import rfc3339
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.finished import finished_figures, finished_results
from sync_hooks.execution.groups import GroupState, progress
from sync_hooks.execution.result import result_of
from sync_hooks.planning.plan import Plan
from sync_hooks.report.distribution import summary
from sync_hooks.report.figures import figures_of


def show_progress(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    iteration: int,
    states: Sequence[GroupState],
    now: datetime,
) -> WorkflowStatus:
    """Write down how far the iteration is, and since when; figures only when a group has ended or begun."""
    counted = progress(plan, iteration, states)
    old = status.progress
    if old is not None and old.model_copy(update={"since": None}) == counted:
        return status
    update: dict[str, Progress | Results | None] = {"progress": counted.model_copy(update={"since": rfc3339(now)})}
    ended = [state for state in states if state.ended and state.job is not None and state.job.status.figures]
    if ended or status.iterations:
        update["results"] = _figures(request, status, plan, iteration, ended)
    return status.model_copy(update=update)


def _figures(
    request: Request, status: WorkflowStatus, plan: Plan, iteration: int, ended: Sequence[GroupState]
) -> Results | None:
    """Summarise the figures of the iterations before and of the groups of this one that have ended."""
    finished, current = status.iterations or (), result_of(iteration, ended)
    chosen = finished_results(request, finished[-1:]) if plan.unpinned else None
    parts = (finished_figures(request, finished), figures_of([current]))
    return summary(plan, parts, (*(chosen or ()), current))
