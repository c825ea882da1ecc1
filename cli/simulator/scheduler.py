"""The scheduler: gives each pod a node, one of a JobSet's pods a node where it can, or says why there is none.

Processor time and memory are never short; preemption and gangs are not modelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cli.simulator.batch import TERMINAL, phase
from cli.simulator.clock import Clock
from cli.simulator.conditions import condition, conditions
from cli.simulator.entry import Change, Entry, Object
from cli.simulator.jobset import LABEL_UID
from cli.simulator.kinds import CORE
from cli.simulator.placement import HOSTNAME, allowed, extended_requests, misfit, named_hostnames
from cli.simulator.reconcile import Loop
from cli.simulator.store import Store

ACTOR = "scheduler"
MOST_POOLS = 1000  # affinities remembered at a time

Key = tuple[str, str]
Holds = Callable[[Entry], str | None]
"""Why a pod is held back for now, None when it is not."""


class _Pool(NamedTuple):
    """The nodes that an affinity and a selector allow; both are kept so that their identities stay theirs."""

    affinity: object
    selector: object
    nodes: list[Entry]
    others: int


class _Binding(NamedTuple):
    node: str
    requests: Counter[str]
    group: str


class Scheduler:
    """Watches pods and nodes. ``holds`` lets a scenario declare pods unschedulable."""

    def __init__(self, store: Store, clock: Clock, holds: Holds) -> None:
        self._store = store
        self._clock = clock
        self._holds = holds
        self._loop = Loop[Key](clock, self._schedule)
        self._pending: dict[Key, None] = {}
        self._used: dict[str, Counter[str]] = {}
        self._bound: dict[str, _Binding] = {}
        self._groups: Counter[tuple[str, str]] = Counter()
        """How many pods of a JobSet there are on a node."""
        self._by_hostname: dict[str, Entry] | None = None
        self._pools: dict[tuple[int, int], _Pool] = {}
        store.watch(self._on_change, "Pod", "Node")

    def retry(self) -> None:
        """Look at every pod again that found no place."""
        for key in self._pending:
            self._loop.poke(key)

    def _on_change(self, change: Change) -> None:
        entry = change.entry
        if entry.kind.kind == "Node":
            self._by_hostname = None
            self._pools.clear()
            self.retry()
        elif entry.kind.kind == "Pod":
            self._on_pod(change)

    def _on_pod(self, change: Change) -> None:
        pod = change.entry
        if change.type == "DELETED" or phase(pod) in TERMINAL:
            self._pending.pop(pod.key, None)
            self._release(pod)
        elif not pod.obj["spec"].get("nodeName") and not pod.deleting:
            self._pending[pod.key] = None
            if change.type == "ADDED":
                self._loop.poke(pod.key)

    def _release(self, pod: Entry) -> None:
        bound = self._bound.pop(pod.uid, None)
        if bound is not None:
            self._used[bound.node] -= bound.requests
            self._groups[bound.node, bound.group] -= 1
            if not self._groups[bound.node, bound.group]:
                del self._groups[bound.node, bound.group]
            self.retry()

    def _schedule(self, key: Key) -> None:
        pod = self._store.find(CORE, "Pod", *key)
        if pod is None or pod.deleting or key not in self._pending:
            return
        held = self._holds(pod)
        node, problem = (None, held) if held is not None else self._place(pod)
        if node is None:
            self._report(pod, problem or "")
        else:
            self._bind(pod, node)

    def _bind(self, pod: Entry, node: Entry) -> None:
        del self._pending[pod.key]
        binding = _Binding(node.name, extended_requests(pod.obj["spec"]), _group(pod))
        self._used.setdefault(node.name, Counter()).update(binding.requests)
        self._bound[pod.uid] = binding
        self._groups[node.name, binding.group] += 1
        self._store.update({**pod.obj, "spec": {**pod.obj["spec"], "nodeName": node.name}}, actor=ACTOR)

    def _report(self, pod: Entry, message: str) -> None:
        told = next((item for item in conditions(pod.obj) if item["type"] == "PodScheduled"), None)
        if told is not None and told["message"] == message:
            return
        new = condition("PodScheduled", "Unschedulable", message, self._clock.stamp(), status="False")
        status = {**(pod.obj.get("status") or {}), "conditions": [new]}
        self._store.update_status({**pod.obj, "status": status}, actor=ACTOR)

    def _place(self, pod: Entry) -> tuple[Entry | None, str]:
        """Choose a node: by name, those without a pod of the same JobSet first. The text says why there is none."""
        spec, group, reasons = pod.obj["spec"], _group(pod), Counter[str]()
        requests = extended_requests(spec)
        pool, others = self._pool(spec)
        shared: list[Entry] = []
        for node in pool:
            if (node.name, group) in self._groups:
                shared.append(node)
            elif (reason := self._misfit(spec, requests, node)) is None:
                return node, ""
            else:
                reasons[reason] += 1
        for node in sorted(shared, key=lambda node: (self._groups[node.name, group], node.name)):
            if (reason := self._misfit(spec, requests, node)) is None:
                return node, ""
            reasons[reason] += 1
        if others:
            reasons["node(s) didn't match Pod's node affinity/selector"] += others
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        return None, f"0/{len(pool) + others} nodes are available: {listed}."

    def _misfit(self, spec: Object, requests: Counter[str], node: Entry) -> str | None:
        return misfit(spec, requests, self._used.setdefault(node.name, Counter()), node)

    def _pool(self, spec: Object) -> tuple[list[Entry], int]:
        """List the nodes that affinity allows, by name, and count the others.

        All pods of a Job share the very affinity of its template, so its identity finds what was computed before.
        """
        affinity, selector = spec.get("affinity"), spec.get("nodeSelector")
        key = (id(affinity), id(selector))
        known = self._pools.get(key)
        if known is None:
            if len(self._pools) >= MOST_POOLS:
                self._pools.clear()
            nodes, total = self._allowed(spec)
            known = self._pools[key] = _Pool(affinity, selector, nodes, total - len(nodes))
        return known.nodes, known.others

    def _allowed(self, spec: Object) -> tuple[list[Entry], int]:
        if self._by_hostname is None:
            nodes = self._store.select(CORE, "Node")
            self._by_hostname = {node.labels.get(HOSTNAME, node.name): node for node in nodes}
        hostnames = named_hostnames(spec)
        candidates: Iterable[Entry] = self._by_hostname.values()
        if hostnames is not None:  # looked up, not searched for
            candidates = [self._by_hostname[name] for name in hostnames if name in self._by_hostname]
        fitting = sorted((node for node in candidates if allowed(spec, node)), key=lambda node: node.name)
        return fitting, len(self._by_hostname)


def _group(pod: Entry) -> str:
    return pod.labels.get(LABEL_UID, pod.uid)
