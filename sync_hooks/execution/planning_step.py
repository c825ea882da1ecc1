"""Planning, as one step of a Workflow's life: only where neither a plan nor a sign of one exists.

A second plan would run groups twice. So the ConfigMap is looked for live, a Workflow that has followed a plan before
fails when it is gone, and nodes are read past every cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from traceback import format_exc

from sync_hooks.api.conditions import INVALID_SPEC
from sync_hooks.api.errors import cut
from sync_hooks.api.names import plan_name
from sync_hooks.api.observed import LiveObject, Node
from sync_hooks.api.request import Request
from sync_hooks.api.results import Coverage
from sync_hooks.api.spec import UNKNOWN_FIELDS, read_spec
from sync_hooks.api.sync import Busy, GetObject, ListKinds, ListNodes, Observed, Reads, Result, Unreadable
from sync_hooks.api.workflow import WorkflowSpec, WorkflowStatus
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.execution.children import identity, plan_config_map
from sync_hooks.execution.ownership import standing, taken
from sync_hooks.execution.plan_seen import MOST_EXCLUDED, plan_facts
from sync_hooks.execution.preflight import look_ahead, surroundings
from sync_hooks.execution.unseen import GivenUp, look_again, look_for
from sync_hooks.execution.waiting import wait_within
from sync_hooks.execution.workflow_answer import Step, answer, fail, in_progress, keep_trying
from sync_hooks.planning import reasons
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable, encode, own_kinds

PLANNING_GIVE_UP_SECONDS = 300  # for nodes and LogProfiles that are not there, or nodes that are not labelled yet
PLANNING_RESYNC_SECONDS = 15
MOST_TOLD = 300  # characters of a fault's own words


def make_plan(request: Request, status: WorkflowStatus, observed: Observed, now: datetime) -> Reads | Result:
    """Plan the run and ask for the ConfigMap that holds the plan; nothing else is made in the same answer."""
    parent = request.parent
    stored = GetObject("v1", "ConfigMap", plan_name(parent.metadata.name), parent.metadata.namespace)
    if stored not in observed:
        return Reads((stored,))
    config_map = observed[stored]
    if isinstance(config_map, Unreadable):
        return keep_trying(request, status, config_map.reason, now)
    if config_map is not None:
        return _await_plan(request, status, config_map, observed, now)
    if status.plan is not None:
        return fail(request, status, "PlanLost", "the plan was deleted while the run was under way", now)
    return _plan(request, status, observed, now)


def _plan(request: Request, status: WorkflowStatus, observed: Observed, now: datetime) -> Reads | Result:
    spec = read_spec(WorkflowSpec, request.parent.spec)
    if isinstance(spec, Busy):
        return _give_up(request, status, Unplannable(INVALID_SPEC, spec.reason, wait=True, waiting=UNKNOWN_FIELDS), now)
    if isinstance(spec, str):
        return fail(request, status, INVALID_SPEC, spec, now)
    nodes_read = ListNodes(max_age=0)
    if nodes_read not in observed:
        return Reads((nodes_read, *surroundings(request.parent.metadata.namespace)))
    nodes = observed[nodes_read]
    if isinstance(nodes, Unreadable):
        return _give_up(request, status, Unplannable("NodeDiscoveryError", nodes.reason, wait=True), now)
    planned = _planned(request, spec, nodes, observed)
    if isinstance(planned, Reads):
        return planned
    if isinstance(planned, Unreadable):
        return keep_trying(request, status, planned.reason, now)
    if isinstance(planned, Unplannable):
        return _give_up(request, status, planned, now)
    return _store(request, status, planned, observed, now)


def _planned(
    request: Request, spec: WorkflowSpec, nodes: tuple[Node, ...], observed: Observed
) -> Plan | Unplannable | Reads | Unreadable:
    """Plan and look ahead; a fault of our own is the end: what is pure and has raised once raises for ever."""
    try:
        planned = build_served(identity(request.parent), spec, nodes, observed)
        return (
            look_ahead(planned, request.parent.metadata.namespace, observed) if isinstance(planned, Plan) else planned
        )
    except MemoryError:  # not of the input: another replica may have the room
        raise
    except Exception as error:
        text = f"this is a fault of workloadrun: {type(error).__name__}: {cut(' '.join(str(error).split()), MOST_TOLD)}"
        return Unplannable(reasons.BUILD_FAILED, text, fault=format_exc())


def build_served(
    run: RunIdentity, spec: WorkloadRunSpec, nodes: Sequence[Node], observed: Observed
) -> Plan | Unplannable | Reads | Unreadable:
    """Plan; where Jobs bring objects of their own, once more without the kinds that the cluster does not serve."""
    planned = build(run, spec, nodes)
    wanted = own_kinds(planned) if isinstance(planned, Plan) else ()
    reads = tuple(ListKinds(api_version) for api_version in sorted({api_version for api_version, _ in wanted}))
    if any(read not in observed for read in reads):
        return Reads(reads)
    for found in (observed[read] for read in reads):
        if isinstance(found, Unreadable):
            return found
    absent = [(version, kind) for version, kind in wanted if kind not in observed[ListKinds(version)]]
    return build(run, spec, nodes, absent) if absent else planned


def _store(request: Request, status: WorkflowStatus, plan: Plan, observed: Observed, now: datetime) -> Reads | Result:
    wanted = plan_config_map(request.parent, encode(plan))
    waiting = look_for(request, status.waiting, wanted, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return fail(request, status, waiting.reason, waiting.message, now)
    text = f"{plan.targeted} nodes targeted, {len(plan.exclusions)} excluded, {len(plan.groups)} groups"
    known = status.model_copy(update={**plan_facts(plan), "waiting": waiting})
    step = Step(in_progress(known, "GroupsPartitioned", text, now), (wanted,), look_again(waiting, now))
    return answer(request, step)


def _await_plan(
    request: Request, status: WorkflowStatus, config_map: LiveObject, observed: Observed, now: datetime
) -> Reads | Result:
    """Wait for the plan to be seen, or for that of an earlier Workflow to go; else the name is somebody else's."""
    if standing(config_map, request.parent) == "foreign":
        return fail(request, status, "PlanNameCollision", taken(config_map), now)
    known = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": config_map.metadata.name}}
    waiting = look_for(request, status.waiting, known, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return fail(request, status, waiting.reason, waiting.message, now)
    new = status.model_copy(update={"waiting": waiting})
    return answer(request, Step(new, resync_after=look_again(waiting, now)))


def _give_up(request: Request, status: WorkflowStatus, problem: Unplannable, now: datetime) -> Result:
    """Fail with what is known of the nodes; where time may mend it, wait first.

    Nodes are often labelled a bit late, and a LogProfile may come out of the same repository as the run.
    """
    awaited = problem.waiting or problem.reason
    waiting = wait_within(PLANNING_GIVE_UP_SECONDS, status.waiting, awaited, problem.message, now)
    if problem.wait and waiting is not None:
        known = status.model_copy(update={"waiting": waiting})
        new = in_progress(known, problem.waiting or "WaitingForNodes", problem.message, now)
        return answer(request, Step(new, resync_after=PLANNING_RESYNC_SECONDS))
    excluded, count = list(problem.exclusions[:MOST_EXCLUDED]), len(problem.exclusions)
    coverage = Coverage(targeted=count, tested=0, excluded=count, inconclusive=0) if count else status.coverage
    update = {
        "excluded_nodes": excluded or status.excluded_nodes,
        "coverage": coverage,
        "applied_overrides": list(problem.applied_overrides) or status.applied_overrides,
    }
    ended = fail(request, status.model_copy(update=update), problem.reason, problem.message, now)
    return replace(ended, fault=problem.fault)
