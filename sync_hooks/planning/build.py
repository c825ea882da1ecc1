"""Plans a run: from its admitted spec and the cluster's nodes to everything that will be created.

A chain of named steps, each of which may give up with a reason. Detection comes first and happens once; numbers,
rendering, rows and overrides follow from it, each applied once; groups come last. The order of the nodes never matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sync_hooks.api.limits import INTRA_NODE
from sync_hooks.api.names import LABEL_MANAGED_BY, LABEL_WORKLOAD_RUN, MANAGED_BY, shorten
from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.overrides.draft import Naming
from sync_hooks.planning import reasons
from sync_hooks.planning.admitted import check_job
from sync_hooks.planning.assemble import assemble
from sync_hooks.planning.changes import apply_overrides, apply_rows, clean
from sync_hooks.planning.checks import check_apis, check_gang, check_references, patch_everywhere, settle_tolerations
from sync_hooks.planning.counts import exclude_by_gpus, name_interfaces, require_fabric, resolve_counts
from sync_hooks.planning.discovery import choose_topology, find_nodes, match_overrides, settle_orchestration
from sync_hooks.planning.finished import check_finished
from sync_hooks.planning.grouping import form_groups
from sync_hooks.planning.orchestration import orchestration_of
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable
from sync_hooks.planning.rendering import render
from sync_hooks.planning.requests import check_choice, check_companions, check_requests
from sync_hooks.planning.restarts import warn_of_restarts
from sync_hooks.planning.sizes import check_sizes
from sync_hooks.planning.state import State, Step, give_up
from sync_hooks.planning.trainer import check_trainer


def check_framework(state: State) -> State | Unplannable:
    """Refuse a run without a framework: admission does too, but objects may be older than admission."""
    if not state.spec.framework.kind:
        return give_up(state, reasons.BUILD_FAILED, f"run {state.identity.name} names no framework: torch, mpi or exec")
    return state


def check_placement(state: State) -> State | Unplannable:
    """Refuse to let the scheduler choose nodes where groups must be particular ones."""
    scale = state.spec.orchestration.test_scale if state.spec.orchestration else None
    if state.orchestration.unpinned and (state.orchestration.strict_domain or scale == INTRA_NODE):
        message = (
            "placement Unpinned cannot be combined with testScale intra-node or intra-rack: both need chosen nodes"
        )
        return give_up(state, reasons.BUILD_FAILED, message)
    return state


STEPS: tuple[Step, ...] = (
    check_framework,
    find_nodes,
    choose_topology,
    match_overrides,
    settle_orchestration,
    check_placement,
    resolve_counts,
    exclude_by_gpus,
    name_interfaces,
    require_fabric,
    render,
    apply_rows,
    apply_overrides,
    clean,
    check_references,
    check_finished,
    check_trainer,
    check_choice,
    check_requests,
    check_gang,
    check_apis,
    settle_tolerations,
    patch_everywhere,
    warn_of_restarts,
    form_groups,
    check_companions,
)


def build(
    identity: RunIdentity,
    spec: WorkloadRunSpec,
    nodes: Sequence[Node],
    absent_kinds: Iterable[tuple[str, str]] = (),
) -> Plan | Unplannable:
    """Plan a run, or say why it cannot be planned.

    ``absent_kinds`` are device APIs (apiVersion, kind) that the cluster is known not to serve.
    """
    state = _start(identity, spec, nodes, absent_kinds)
    for step in STEPS:
        result = step(state)
        if isinstance(result, Unplannable):
            return result
        state = result
    plan = assemble(state)
    return check_sizes(state, plan) or check_job(state, plan) or plan


def _start(
    identity: RunIdentity, spec: WorkloadRunSpec, nodes: Sequence[Node], absent_kinds: Iterable[tuple[str, str]]
) -> State:
    orchestration = orchestration_of(spec)
    labels = {"app": identity.name, LABEL_MANAGED_BY: MANAGED_BY, LABEL_WORKLOAD_RUN: identity.name}
    return State(
        identity=identity,
        spec=spec,
        nodes=tuple(sorted(nodes, key=lambda node: node.name)),
        absent_kinds=frozenset(absent_kinds),
        orchestration=orchestration,
        naming=Naming(identity.name, shorten(identity.name), identity.namespace, labels, orchestration.group_size),
    )
