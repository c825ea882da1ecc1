"""Planning, as one step of a Workflow's life: only where neither a plan nor a sign of one exists.

A second plan would run groups twice. So the ConfigMap is looked for live, a Workflow that has followed a plan before
fails when it is gone, and nodes are read past every cache.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ValidationError

from sync_hooks.api.conditions import FAILED, IN_PROGRESS, INVALID_SPEC, set_exclusive
from sync_hooks.api.names import plan_name
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import Request
from sync_hooks.api.results import AppliedOverride, Coverage, ExcludedNode
from sync_hooks.api.status import write_status
from sync_hooks.api.sync import GetObject, ListKinds, ListNodes, Observed, Reads, Result, Unreadable
from sync_hooks.api.workflow import WorkflowSpec, WorkflowStatus
from sync_hooks.execution.answers import (
    UNREADABLE_RESYNC_SECONDS,
    is_current,
    keep,
    keep_live,
    own_read,
    stubs,
    transitions,
)
from sync_hooks.execution.children import identity, plan_config_map
from sync_hooks.execution.conclusion import coverage_of
from sync_hooks.execution.unseen import GivenUp, look_for
from sync_hooks.execution.waiting import next_look, wait, waited
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, Unplannable, encode, own_kinds

NODES_GIVE_UP_SECONDS = 300  # for nodes that are not there or not labelled yet
NODES_RESYNC_SECONDS = 15
MOST_EXCLUDED = 50  # of the status; the plan has them all


def make_plan(request: Request, status: WorkflowStatus, observed: Observed, now: datetime) -> Reads | Result:
    """Plan the run and ask for the ConfigMap that holds the plan; nothing else is made in the same answer."""
    parent = request.parent
    own = own_read(parent)
    stored = GetObject("v1", "ConfigMap", plan_name(parent.metadata.name), parent.metadata.namespace)
    if own not in observed or stored not in observed:
        return Reads((own, stored))
    live, config_map = observed[own], observed[stored]
    if isinstance(live, Unreadable) or isinstance(config_map, Unreadable) or live is None:
        return keep(request, UNREADABLE_RESYNC_SECONDS)
    if not is_current(parent, live):
        return keep_live(request, live)
    if config_map is not None:
        return _await_plan(request, status, config_map, observed, now)
    if status.plan is not None:
        return _fail(request, status, Unplannable("PlanLost", "the plan was deleted while the run was under way"), now)
    return _plan(request, status, observed, now)


def _plan(request: Request, status: WorkflowStatus, observed: Observed, now: datetime) -> Reads | Result:
    try:
        spec = WorkflowSpec.model_validate(request.parent.spec)
    except ValidationError as error:
        return _fail(request, status, Unplannable(INVALID_SPEC, _first_error(error)), now)
    nodes_read = ListNodes(max_age=0)
    if nodes_read not in observed:
        return Reads((nodes_read,))
    nodes = observed[nodes_read]
    if isinstance(nodes, Unreadable):
        return _wait_for_nodes(request, status, Unplannable("NodeDiscoveryError", nodes.reason, wait=True), now)
    planned = build(identity(request.parent), spec, nodes)
    if isinstance(planned, Plan) and (wanted := own_kinds(planned)):
        reads = tuple(ListKinds(api_version) for api_version in sorted({api_version for api_version, _ in wanted}))
        if any(read not in observed for read in reads):
            return Reads(reads)
        if any(isinstance(observed[read], Unreadable) for read in reads):
            return keep(request, UNREADABLE_RESYNC_SECONDS)
        absent = [(version, kind) for version, kind in wanted if kind not in observed[ListKinds(version)]]
        planned = build(identity(request.parent), spec, nodes, absent) if absent else planned
    if isinstance(planned, Plan):
        return _store(request, status, planned, observed, now)
    return (_wait_for_nodes if planned.wait else _fail)(request, status, planned, now)


def _first_error(error: ValidationError) -> str:
    return "; ".join(f"spec.{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()[:10])


def _store(request: Request, status: WorkflowStatus, plan: Plan, observed: Observed, now: datetime) -> Reads | Result:
    wanted = plan_config_map(request.parent, encode(plan))
    waiting = look_for(request, status.waiting, wanted, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return _fail(request, status, Unplannable(waiting.reason, waiting.message), now)
    excluded = [ExcludedNode(name=name, reason=reason) for name, reason in plan.exclusions[:MOST_EXCLUDED]]
    update = {
        "detected_platform": plan.platform,
        "detected_gpu_architecture": plan.architecture,
        "resolved_gpus_per_node": plan.gpus_per_node,
        "coverage": coverage_of(plan, None),
        "excluded_nodes": excluded or None,
        "applied_overrides": [AppliedOverride.model_validate(row) for row in plan.applied_overrides] or None,
        "warnings": list(plan.warnings) or None,
        "waiting": waiting,
    }
    text = f"{plan.targeted} nodes targeted, {len(plan.exclusions)} excluded, {len(plan.groups)} groups"
    new = _in_progress(status.model_copy(update=update), "GroupsPartitioned", text, now)
    return _answer(request, status, new, (wanted,), next_look(waiting, now))


def _await_plan(
    request: Request, status: WorkflowStatus, config_map: LiveObject, observed: Observed, now: datetime
) -> Reads | Result:
    """Wait where the plan is there and the cache does not show it yet; else the name belongs to somebody else."""
    known = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": config_map.metadata.name}}
    if config_map.metadata.controller_uid() != request.parent.metadata.uid:
        text = f"ConfigMap {config_map.metadata.name} exists already and belongs to somebody else"
        return _fail(request, status, Unplannable("PlanNameCollision", text), now)
    waiting = look_for(request, status.waiting, known, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return keep(request, UNREADABLE_RESYNC_SECONDS)  # it is there and ours: the cache has to come
    return _answer(request, status, status.model_copy(update={"waiting": waiting}), (), next_look(waiting, now))


def _wait_for_nodes(request: Request, status: WorkflowStatus, problem: Unplannable, now: datetime) -> Result:
    """Wait a bounded time: nodes are often labelled a moment after the run was made."""
    waiting = wait(status.waiting, problem.reason, problem.message, now)
    if waited(waiting, now) > NODES_GIVE_UP_SECONDS:
        return _fail(request, status, problem, now)
    new = _in_progress(status.model_copy(update={"waiting": waiting}), "WaitingForNodes", problem.message, now)
    return _answer(request, status, new, (), NODES_RESYNC_SECONDS)


def _in_progress(status: WorkflowStatus, reason: str, message: str, now: datetime) -> WorkflowStatus:
    conditions = set_exclusive(status.conditions or (), IN_PROGRESS, reason, message, now)
    return status.model_copy(update={"conditions": list(conditions)})


def _fail(request: Request, status: WorkflowStatus, problem: Unplannable, now: datetime) -> Result:
    conditions = set_exclusive(status.conditions or (), FAILED, problem.reason, problem.message, now)
    excluded = list(problem.exclusions[:MOST_EXCLUDED])
    count = len(problem.exclusions)
    update = {
        "conditions": list(conditions),
        "waiting": None,
        "excluded_nodes": excluded or status.excluded_nodes,
        "coverage": Coverage(targeted=count, tested=0, excluded=count, inconclusive=0) if count else status.coverage,
        "applied_overrides": list(problem.applied_overrides) or status.applied_overrides,
    }
    return _answer(request, status, status.model_copy(update=update))


def _answer(
    request: Request,
    old: WorkflowStatus,
    new: WorkflowStatus,
    children: tuple[dict[str, Any], ...] = (),
    resync_after: float = 0,
) -> Result:
    return Result(
        status=write_status(request.parent.status, new),
        children=(*stubs(request), *children),
        resync_after=resync_after,
        events=transitions(old.conditions or (), new.conditions or ()),
    )
