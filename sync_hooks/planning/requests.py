"""Steps that hold what pods ask of a node against what nodes are: a pod that fits nowhere would wait for ever.

What other pods take of a node is not known here, and so not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sync_hooks.api.observed import Node
from sync_hooks.api.quantity import parse_quantity
from sync_hooks.api.trainer import WORKER, JsonObject
from sync_hooks.cluster import reasons as node_reasons
from sync_hooks.cluster.nodes import exclude
from sync_hooks.cluster.scheduling import not_allowed
from sync_hooks.planning import reasons
from sync_hooks.planning.amounts import Amounts, requests, shown, total
from sync_hooks.planning.job import MOST_LAUNCHER_NODES
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.pods import made_pods
from sync_hooks.planning.state import State, give_up, name_some, tell_excluded

ALWAYS_THERE = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Every kubelet tells of these: a node without them is one of which they are not known."""


def check_choice(state: State) -> State | Unplannable:
    """Leave out nodes that the workers' own nodeSelector, required node affinity or nodeName does not allow.

    Groups are pinned to their nodes by affinity, which takes the place of what an override asked for.
    """
    pod = worker_of(state)
    return _leave_out(state, lambda node: not_allowed(pod, node), "no node is one that the workers ask for", wait=True)


def check_requests(state: State) -> State | Unplannable:
    """Leave out nodes that have less of anything than a worker requests after all overrides."""
    needs, candidates = requests(worker_of(state)), state.selection.kept
    may_return = any(_missing(node.status.capacity, needs) is None for node in candidates)
    return _leave_out(
        state,
        lambda node: _missing(node.status.allocatable, needs),
        "no node has what each worker requests",
        wait=may_return,
    )


def check_companions(state: State) -> State | Unplannable:
    """Make sure that pods that are no workers, as MPI's launcher, have room beside a worker of their group."""
    pods, nodes = pods_of_draft(state), {node.name: node for node in state.selection.kept}
    alone = state.orchestration.unpinned and len(nodes) > state.orchestration.group_size
    beside = {} if alone else requests(pods.get(WORKER, {}))
    for name, pod in pods.items():
        if name == WORKER:
            continue
        needs = total([beside, requests(pod)])
        places = [group.nodes[:MOST_LAUNCHER_NODES] or tuple(nodes) for group in state.groups]
        problems = [_no_place(pod, needs, [nodes[place] for place in group]) for group in places]
        without = [(number, problem) for number, problem in enumerate(problems) if problem]
        if without and len(without) == len(problems):
            message = f"replicatedJob {name} has no node in any group, beside a worker: {without[0][1]}"
            return give_up(state, reasons.PARTITION_ERROR, message)
        if without:
            who = name_some(tuple(str(number) for number, _ in without))
            text = f"replicatedJob {name} has no node beside a worker in group {who}, which would wait: {without[0][1]}"
            state = replace(state, warnings=(*state.warnings, text))
    return state


def pods_of_draft(state: State) -> dict[str, JsonObject]:
    """Return the pod specs by replicatedJob, as Trainer would make them of what is planned by now."""
    return made_pods(state.draft.runtime, state.draft.job["spec"]["workload"]["trainJob"])


def worker_of(state: State) -> JsonObject:
    """Return the pod spec of a worker, empty where an override has left none."""
    return pods_of_draft(state).get(WORKER, {})


def _leave_out(state: State, judge: Callable[[Node], str | None], problem: str, *, wait: bool) -> State | Unplannable:
    candidates = state.selection.kept
    state = replace(state, selection=exclude(state.selection, judge))
    if state.selection.kept:
        return state
    told = tell_excluded({node.name: state.selection.excluded[node.name] for node in candidates})
    return give_up(state, reasons.PARTITION_ERROR, f"{problem}: {told}", wait=wait)


def _no_place(pod: JsonObject, needs: Amounts, nodes: list[Node]) -> str:
    """Say why a pod has a place on none of these nodes, by the first of them; empty where it has."""
    first = ""
    for node in nodes:
        problem = not_allowed(pod, node, affinity=False) or _missing(node.status.allocatable, needs)
        if problem is None:
            return ""
        first = first or f"{node.name}: {problem}"
    return first


def _missing(offered: Mapping[str, str], needs: Amounts) -> str | None:
    for name, needed in sorted(needs.items()):
        if name not in offered and name in ALWAYS_THERE:
            continue
        has = parse_quantity(offered.get(name, "0")) or Fraction(0)
        if has < needed:
            return node_reasons.too_few(shown(name, has), shown(name, needed), name)
    return None
