"""Steps that find the nodes: target and fitness, architecture, platform, the overrides that match, a changed target."""

from __future__ import annotations

from dataclasses import replace

from sync_hooks.api.names import GPU
from sync_hooks.api.observed import Node
from sync_hooks.api.target import Target
from sync_hooks.cluster import reasons as node_reasons
from sync_hooks.cluster.nodes import LABEL_GPU_PRESENT, ambiguous_hostnames, exclude, overlooked, select
from sync_hooks.cluster.platform import UNKNOWN, architecture_of, chosen_architecture, platform_of, platforms
from sync_hooks.cluster.resources import commonest_gpus
from sync_hooks.overrides.expression import ExpressionProblem
from sync_hooks.overrides.rows import rack_key, topology_key
from sync_hooks.overrides.when import Detected, matches
from sync_hooks.planning import reasons
from sync_hooks.planning.counts import asks_for_gpus, requested_gpus, unfit_gpus
from sync_hooks.planning.orchestration import overridden, with_topology
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State, give_up, name_some, tell_excluded
from sync_hooks.planning.tolerations import possible


def find_nodes(state: State) -> State | Unplannable:
    """Select the nodes, choose their architecture, and make sure that they are of one platform."""
    target = state.orchestration.target
    selection = select(target, state.nodes, possible(state.spec, target))
    shared = ambiguous_hostnames(state.nodes)
    state = replace(
        state,
        selection=exclude(selection, lambda node: shared.get(node.name)),
        warnings=(*state.warnings, *_overlooked(state)),
    )
    if not state.selection.kept:
        return give_up(state, reasons.NODE_DISCOVERY_ERROR, _nothing_found(state), wait=True)
    return _of_one_platform(_of_one_architecture(state))


def choose_topology(state: State) -> State | Unplannable:
    """Fill in the label that groups follow, from what was detected."""
    preferred = topology_key(state.platform, state.architecture)
    settled = with_topology(state.orchestration, preferred, rack_key(state.platform))
    return replace(state, orchestration=settled)


def match_overrides(state: State) -> State | Unplannable:
    """Choose the user's overrides, once, by what was detected."""
    detected = Detected(state.platform, state.architecture, state.orchestration.mode, _domain_count(state))
    chosen = []
    ignored = []
    for number, override in enumerate(state.spec.overrides or ()):
        verdict = matches(override.when, detected)
        if isinstance(verdict, ExpressionProblem):
            message = f"spec.overrides[{number}].when.expression: {verdict.message}"
            return give_up(state, reasons.OVERRIDE_ERROR, message)
        if verdict:
            chosen.append((number, override))
        else:
            ignored.append(f"spec.overrides[{number}] does not match this cluster and changes nothing")
    return replace(state, overrides=tuple(chosen), warnings=(*state.warnings, *ignored))


def settle_orchestration(state: State) -> State | Unplannable:
    """Lay the overrides' orchestration over the run's; nodes are selected anew where the target has changed."""
    changes = [override.orchestration for _, override in state.overrides if override.orchestration is not None]
    settled = overridden(state.orchestration, changes)
    old_target = state.orchestration.target
    state = replace(state, orchestration=settled)
    if settled.target == old_target:
        return state
    found = find_nodes(replace(state, warnings=()))
    if isinstance(found, Unplannable):
        return found
    if (found.platform, found.architecture) != (state.platform, state.architecture):
        message = (
            f"an override changes the target from {state.platform} {state.architecture} to {found.platform} "
            f"{found.architecture}: overrides are chosen once, by what the run's own target selects"
        )
        return give_up(found, reasons.OVERRIDE_ERROR, message)
    return replace(found, warnings=tuple(dict.fromkeys((*found.warnings, *state.warnings))))


def describe(target: Target) -> str:
    """Say what a target looks for."""
    labels = {LABEL_GPU_PRESENT: "true", **(target.node_selector or {})}
    parts = [f"nodes labelled {', '.join(f'{key}={value}' for key, value in labels.items())}"]
    for requirement in target.match_expressions or ():
        values = f" [{', '.join(requirement.values)}]" if requirement.values else ""
        parts.append(f"{requirement.key} {requirement.operator}{values}")
    parts += [f"tainted {selector.key}" for selector in target.taint_selectors or ()]
    parts += [f"named {name_some(tuple(target.node_names))}"] if target.node_names else []
    return ", ".join(parts)


def domain(node: Node, key: str) -> str:
    """Return the topology domain of a node, empty where it has no such label."""
    return node.labels.get(key, "")


def _nothing_found(state: State) -> str:
    looked_for = f"no node can run this: looked for {describe(state.orchestration.target)}"
    excluded = state.selection.excluded
    if not excluded:
        found = "".join(f"; {text}" for text in _overlooked(state))
        return f"{looked_for}; none of the cluster's {len(state.nodes)} nodes matches{found}"
    return f"{looked_for}; {len(excluded)} targeted, all left out: {tell_excluded(excluded)}"


def _overlooked(state: State) -> tuple[str, ...]:
    """Say that nodes with GPUs are no targets for want of a label: it alone decides, so they lower no coverage."""
    names = overlooked(state.orchestration.target, state.nodes, GPU)
    if not names:
        return ()
    text = f"not tested: {len(names)} node{'s' if len(names) > 1 else ''} with {GPU} but"
    return (f"{text} {node_reasons.missing_label(LABEL_GPU_PRESENT, 'true')} ({name_some(names)})",)


def _of_one_architecture(state: State) -> State:
    """Leave out nodes of another architecture, and unlabelled ones where others are labelled."""
    chosen = chosen_architecture(state.selection.kept)
    if chosen == UNKNOWN:
        warning = "no node has a label nvidia.com/gpu.product: the GPU architecture is unknown"
        return replace(state, architecture=chosen, warnings=(*state.warnings, warning))

    def judge(node: Node) -> str | None:
        own = architecture_of(node)
        if own == UNKNOWN:
            return node_reasons.UNLABELLED
        return None if own == chosen else node_reasons.other_architecture(own, chosen)

    return replace(state, architecture=chosen, selection=exclude(state.selection, judge))


def _of_one_platform(state: State) -> State | Unplannable:
    """Take the platform of the nodes whose GPUs fit; a node of another one whose do not is left out."""
    kept = state.selection.kept
    needed = requested_gpus(state.spec, state.spec.gpus_per_node or commonest_gpus(kept) or 0)
    unfit = {node.name: unfit_gpus(node, needed, asked=asks_for_gpus(state.spec)) for node in kept}
    by_platform = platforms([node for node in kept if unfit[node.name] is None] or kept)
    if len(by_platform) > 1:
        found = "; ".join(f"{platform} {len(names)} ({name_some(names)})" for platform, names in by_platform.items())
        return give_up(state, reasons.HETEROGENEOUS_PLATFORM, f"the nodes are of several platforms: {found}")
    platform = next(iter(by_platform))

    def judge(node: Node) -> str | None:
        return None if platform_of(node) == platform else unfit[node.name]

    return replace(state, platform=platform, selection=exclude(state.selection, judge))


def _domain_count(state: State) -> int:
    key = state.orchestration.topology_key
    return len({domain(node, key) for node in state.selection.kept} - {""}) if key else 0
