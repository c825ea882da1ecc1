"""Step that puts the nodes into groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sync_hooks.api.observed import Node
from sync_hooks.cluster import reasons as node_reasons
from sync_hooks.cluster.nodes import exclude
from sync_hooks.cluster.placement import Placed, place_by_domain, place_by_strict_domain, place_simply
from sync_hooks.planning import reasons
from sync_hooks.planning.discovery import domain
from sync_hooks.planning.plan import Group, Unplannable
from sync_hooks.planning.state import State, give_up, name_some, tell_excluded


def form_groups(state: State) -> State | Unplannable:
    """Put every kept node into a group; its number is its place."""
    orchestration = state.orchestration
    if orchestration.strict_domain:
        return _one_a_domain(state)
    if orchestration.group_size > len(state.selection.kept):
        return give_up(state, reasons.PARTITION_ERROR, _too_few(state), wait=True)
    if orchestration.unpinned:
        return replace(state, groups=(Group(),))
    names = [node.name for node in state.selection.kept]
    if not orchestration.topology_key:
        return replace(state, groups=_groups(place_simply(names, orchestration.group_size)))
    domains = _domains(state.selection.kept, orchestration.topology_key)
    unlabelled = tuple(name for name, value in domains.items() if not value)
    placed = place_by_domain(domains, orchestration.group_size)
    return replace(state, groups=_groups(placed), warnings=(*state.warnings, *_unlabelled(state, unlabelled)))


def _one_a_domain(state: State) -> State | Unplannable:
    key = state.orchestration.topology_key
    counts = Counter(domain(node, key) for node in state.selection.kept)
    between_nodes = _measures_between_nodes(state)

    def judge(node: Node) -> str | None:
        value = domain(node, key)
        if not value:
            return node_reasons.missing_label(key)
        return node_reasons.alone(key, value) if between_nodes and counts[value] == 1 else None

    selection = exclude(state.selection, judge)
    state = replace(state, selection=selection)
    if not selection.kept:
        wanted = f"two nodes have the same label {key}" if any(filter(None, counts)) else f"node has the label {key}"
        message = f"one group a domain was asked for, and no {wanted}: {tell_excluded(selection.excluded)}"
        return give_up(state, reasons.PARTITION_ERROR, message, wait=True)
    groups = _groups(place_by_strict_domain(_domains(selection.kept, key)))
    sizes = {len(group.nodes) for group in groups}
    other = sizes != {state.spec.num_nodes}
    text = f"numNodes {state.spec.num_nodes} is ignored: there is one group for each value of {key}"
    return replace(state, groups=groups, warnings=(*state.warnings, *((text,) if other else ())))


def _measures_between_nodes(state: State) -> bool:
    """Tell whether bandwidth between nodes is asked for: that of one node is another test, and a faster one."""
    return state.spec.bandwidth_measurement is not None and state.spec.num_nodes > 1


def _domains(nodes: Sequence[Node], key: str) -> Mapping[str, str]:
    return {node.name: domain(node, key) for node in nodes}


def _groups(placed: Sequence[Placed]) -> tuple[Group, ...]:
    return tuple(
        Group(nodes=one.nodes, overflow=one.overflow, lent=one.lent, domains=tuple(filter(None, one.domains)))
        for one in placed
    )


def _unlabelled(state: State, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return ()
    key, count = state.orchestration.topology_key, len(state.selection.kept)
    return (f"{len(names)} of {count} nodes have no label {key} and are grouped by name ({name_some(names)})",)


def _too_few(state: State) -> str:
    kept, excluded = state.selection.kept, state.selection.excluded
    message = f"a group needs {state.orchestration.group_size} nodes, {len(kept)} can run this"
    told = f"; left out: {tell_excluded(excluded)}" if excluded else ""
    return f"{message}{told}; set numNodes to {len(kept)} or less, or make more nodes fit"
