"""Step that holds what each worker requests against what nodes have: a pod that fits nowhere would wait for ever.

What other pods take of a node is not known here, and so not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from sync_hooks.api.quantity import parse_quantity
from sync_hooks.api.trainer import ANCESTOR_TRAINER, LABEL_ANCESTOR, WORKER, JsonObject, pod_of
from sync_hooks.cluster import reasons as node_reasons
from sync_hooks.cluster.nodes import exclude
from sync_hooks.planning import reasons
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State, give_up, tell_excluded

Amounts = dict[str, Fraction]
GIBIBYTE = 1 << 30
ALWAYS_THERE = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Every kubelet tells of these: a node without them is one of which they are not known."""


def check_requests(state: State) -> State | Unplannable:
    """Leave out nodes that have less of anything than a worker requests after all overrides."""
    needs, candidates = _requested(state.draft.runtime, state.draft.job), state.selection.kept
    state = replace(state, selection=exclude(state.selection, lambda node: _missing(node.status.allocatable, needs)))
    if state.selection.kept:
        return state
    told = tell_excluded({node.name: state.selection.excluded[node.name] for node in candidates})
    may_return = any(_missing(node.status.capacity, needs) is None for node in candidates)
    message = f"no node has what each worker requests: {told}"
    return give_up(state, reasons.PARTITION_ERROR, message, wait=may_return)


def _missing(offered: Mapping[str, str], needs: Amounts) -> str | None:
    for name, needed in needs.items():
        if name not in offered and name in ALWAYS_THERE:
            continue
        has = parse_quantity(offered.get(name, "0")) or Fraction(0)
        if has < needed:
            return node_reasons.too_few(_shown(name, has), _shown(name, needed), name)
    return None


def _requested(runtime: JsonObject, job: JsonObject) -> Amounts:
    """Return what a worker's pod requests, by the scheduler's sum: init containers run before the others."""
    worker = next((one for one in runtime["spec"]["template"]["spec"]["replicatedJobs"] if one["name"] == WORKER), None)
    if worker is None:
        return {}
    pod, trainer = pod_of(worker), job["spec"]["workload"]["trainJob"]["trainer"]
    own = trainer.get("resourcesPerNode") if _is_trainers(worker) else None  # Trainer puts them in the place of ours
    lasting = [
        _amounts(own if own and one["name"] == WORKER else one.get("resources") or {})
        for one in pod.get("containers") or ()
    ]
    first = pod.get("initContainers") or ()
    lasting += [_amounts(one.get("resources") or {}) for one in first if one.get("restartPolicy") == "Always"]
    passing = [_amounts(one.get("resources") or {}) for one in first if one.get("restartPolicy") != "Always"]
    total = {name: sum((one.get(name, Fraction(0)) for one in lasting), Fraction(0)) for name in _names(lasting)}
    most = {name: max(one.get(name, Fraction(0)) for one in passing) for name in _names(passing)}
    zero = Fraction(0)
    return {name: max(total.get(name, zero), most.get(name, zero)) for name in sorted(total.keys() | most.keys())}


def _is_trainers(worker: JsonObject) -> bool:
    labels = ((worker.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return bool(labels.get(LABEL_ANCESTOR) == ANCESTOR_TRAINER)


def _amounts(resources: JsonObject) -> Amounts:
    """Return what a container requests; what it only limits it requests too."""
    named = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: amount for name, given in named.items() if (amount := parse_quantity(given)) is not None}


def _names(amounts: Iterable[Amounts]) -> set[str]:
    return {name for one in amounts for name in one}


def _shown(name: str, amount: Fraction) -> str:
    if name in ("memory", "ephemeral-storage") and amount >= GIBIBYTE:
        return f"{round(float(amount / GIBIBYTE), 1):g}Gi"
    return f"{float(amount):g}" if amount.denominator > 1 else str(amount.numerator)
