"""Steps that settle numbers: GPUs and interfaces of a node, and which nodes offer enough of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sync_hooks.api.names import GPU
from sync_hooks.api.observed import Node
from sync_hooks.api.quantity import whole_units
from sync_hooks.api.trainer import JsonObject
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.cluster import reasons as node_reasons
from sync_hooks.cluster.defaults import node_shape
from sync_hooks.cluster.nodes import Selection, exclude
from sync_hooks.cluster.platform import ONPREM, UNKNOWN
from sync_hooks.cluster.resources import commonest_gpus, detect_nic_resource, offered, own
from sync_hooks.overrides.rows import Resolved, effects_of, fabric_needs
from sync_hooks.planning import reasons
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State, give_up, name_some, tell_excluded

MULTI_NODE_NVLINK = ("gb200", "gb300")
NIC_DETECTION = ("gb200", "gb300", "b200", "b300")  # on-premises, where no table can know the resource's name


def resolve_counts(state: State) -> State | Unplannable:
    """Settle the numbers: the run's own, else what its resources name, else what most nodes have, else the table's."""
    spec, shape = state.spec, node_shape(state.architecture, state.platform)
    gpus = spec.gpus_per_node or requested_gpus(spec, 0) or commonest_gpus(state.selection.kept) or shape.gpus
    nics = shape.nics if spec.mlnx_per_node is None else spec.mlnx_per_node
    mnnvl = state.architecture in MULTI_NODE_NVLINK if spec.enable_mnnvl is None else spec.enable_mnnvl
    warnings = state.warnings
    if not shape.known and state.architecture != UNKNOWN and spec.mlnx_per_node is None:
        text = (
            f"architecture {state.architecture} is not in the table: {gpus} GPUs and {nics} interfaces a node are used"
        )
        warnings = (*warnings, f"{text}; gpusPerNode and mlnxPerNode say otherwise")
    return replace(state, gpus=gpus, nics=nics, mnnvl=mnnvl, warnings=warnings)


def exclude_by_gpus(state: State) -> State | Unplannable:
    """Leave out nodes that miss GPUs or have another number than each worker requests.

    Of GPUs that are claimed as devices nobody knows beforehand how many can be: only a larger number counts.
    A node that has as many as the run itself asks for is kept: what more it has is not tested, by the run's word.
    """
    claimed = any(row.gpus_claimed for row in effects_of(_resolved(state)))
    needed, asked = 0 if claimed else requested_gpus(state.spec, state.gpus), asks_for_gpus(state.spec)
    state = replace(state, needed_gpus=needed)
    if claimed:
        smaller = exclude(state.selection, lambda node: None if asked else _larger(node, state.gpus))
        return _keep(state, smaller, state.gpus)
    if needed == 0:
        return state
    fitting = exclude(state.selection, lambda node: unfit_gpus(node, needed, asked=asked))
    if fitting.kept:
        return _keep(state, fitting, needed)
    candidates = state.selection.kept
    best = max(offered(node, GPU) for node in candidates)
    told = tell_excluded({node.name: fitting.excluded[node.name] for node in candidates})
    message = f"each node needs {needed} GPUs, the best of {len(candidates)} nodes offers {best}: {told}"
    may_return = best == 0 or any(own(node, GPU) >= needed for node in candidates)
    return give_up(replace(state, selection=fitting), reasons.PARTITION_ERROR, message, wait=may_return)


def unfit_gpus(node: Node, needed: int, *, asked: bool) -> str | None:
    """Return why a node's GPUs do not fit the run, None where they do; ``asked`` tells that the run names the number.

    Where nobody named it, a node with more would pass although some of its GPUs never ran.
    """
    offers, has = offered(node, GPU), own(node, GPU)
    if offers < has and (offers < needed or not asked):
        return node_reasons.gpus_missing(offers, has)
    if offers < needed:
        return node_reasons.too_few(offers, needed)
    return None if asked else _larger(node, needed)


def _larger(node: Node, used: int) -> str | None:
    has = own(node, GPU)
    return node_reasons.too_many(has, used) if has > used else None


def _keep(state: State, fitting: Selection, used: int) -> State:
    """Go on with the nodes that fit, and say which of them have more GPUs than are used."""
    larger = tuple(node.name for node in fitting.kept if _larger(node, used))
    state = replace(state, selection=fitting)
    if not larger:
        return state
    count = f"{len(larger)} of {len(fitting.kept)} nodes have more ({name_some(larger)})"
    text = f"{used} GPUs are used on each node, and {count}: the rest is not tested"
    return replace(state, warnings=(*state.warnings, text))


def name_interfaces(state: State) -> State | Unplannable:
    """Learn the resource name of the interfaces on-premises: the run's, else the one that is the nodes' norm."""
    if state.spec.nic_resource_name:
        return replace(state, nic_resource=state.spec.nic_resource_name)
    if state.platform != ONPREM or state.architecture not in NIC_DETECTION or state.nics == 0:
        return state
    detected = detect_nic_resource(state.selection.kept, state.nics)
    findings = (detected.finding,) if detected.finding else ()
    return replace(state, nic_resource=detected.name, warnings=(*state.warnings, *findings))


def require_fabric(state: State) -> State | Unplannable:
    """Fill in the platform's rows, and leave out nodes without the fabric that they request."""
    state = replace(state, rows=effects_of(_resolved(state)))
    needs = fabric_needs(state.rows)
    state = replace(state, warnings=(*state.warnings, *_ignored(state, needs)))

    kept = state.selection.kept
    offering = {name: sum(offered(node, name) >= count for node in kept) for name, count in needs.items()}

    def judge(node: Node) -> str | None:
        for name, count in needs.items():
            offers = offered(node, name)
            if not offers and offering[name]:
                return node_reasons.lacks(name, offering[name], len(kept))
            if offers < count:
                return node_reasons.too_few(offers, count, name)
        return None

    equipped = exclude(state.selection, judge)
    if equipped.kept:
        return replace(state, selection=equipped)
    message = f"{state.platform} {state.architecture} needs {_shown(needs)} on each node, and no node offers that"
    told = tell_excluded({node.name: equipped.excluded[node.name] for node in kept})
    remedy = "mlnxPerNode sets another number, 0 runs without"
    return give_up(replace(state, selection=equipped), reasons.FABRIC_RESOURCE_MISSING, f"{message}: {told}; {remedy}")


def _ignored(state: State, needs: Mapping[str, int]) -> Iterator[str]:
    """Say which of the run's words about interfaces change nothing on this platform."""
    name, count = state.spec.nic_resource_name, state.spec.mlnx_per_node
    claimed = any(row.fabric_claimed for row in state.rows)
    where = f"{state.platform} {state.architecture}"
    if name and name not in needs:
        others = ", ".join(needs) or ("devices that are claimed" if claimed else "no interfaces")
        yield f"nicResourceName {name} is ignored here: {where} requests {others}"
    if count and not needs and not claimed:
        yield f"mlnxPerNode {count} is ignored here: no resource of interfaces is known; nicResourceName names it"


def requested_gpus(spec: WorkloadRunSpec, gpus: int) -> int:
    """Return the GPUs that each worker requests: the larger of limit and request where the user names them."""
    named = named_gpus(spec.resources or {})
    return max(map(whole_units, named)) if named else gpus


def asks_for_gpus(spec: WorkloadRunSpec) -> bool:
    """Tell whether the run itself says how many GPUs of a node it takes."""
    return spec.gpus_per_node is not None or bool(named_gpus(spec.resources or {}))


def named_gpus(given: JsonObject) -> list[object]:
    """Return the GPUs that resources of a container name, as limit and as request."""
    return [part[GPU] for part in (given.get("limits") or {}, given.get("requests") or {}) if GPU in part]


def _shown(needs: Mapping[str, int]) -> str:
    return " and ".join(f"{count} {name}" for name, count in needs.items())


def _user_amounts(spec: WorkloadRunSpec) -> dict[str, int]:
    """Return the resources that the run itself names for each worker, the larger of limit and request."""
    given = spec.resources or {}
    amounts: dict[str, int] = {}
    for named in (given.get("limits") or {}, given.get("requests") or {}):
        for name, amount in named.items():
            amounts[name] = max(whole_units(amount), amounts.get(name, 0))
    return amounts


def _resolved(state: State) -> Resolved:
    return Resolved(
        platform=state.platform,
        architecture=state.architecture,
        framework=state.spec.framework.kind,
        gpus=state.gpus,
        nics=state.nics,
        own_nics=state.spec.mlnx_per_node,
        nic_resource=state.nic_resource,
        mnnvl=state.mnnvl,
        user_env=state.spec.env or (),
        user_amounts=_user_amounts(state.spec),
        own_nic_resource=state.spec.nic_resource_name or "",
    )
