"""Where a pod may go: affinity, taints and extended resources, read as the scheduler reads them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from cli.simulator.conditions import conditions
from cli.simulator.entry import Entry, Object, encode
from cli.simulator.selector import Requirement, requirements
from sync_hooks.api.quantity import whole_units

HOSTNAME = "kubernetes.io/hostname"
UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def named_hostnames(spec: Object) -> frozenset[str] | None:
    """Collect the hostnames that required affinity names, None when some term leaves the hostname open."""
    terms = _terms(spec)
    if not terms:
        return None
    found: set[str] = set()
    for term in terms:
        named = [item for item in term if item.key == HOSTNAME and item.operator == "In"]
        if not named:
            return None
        found |= set(named[0].values)
    return frozenset(found)


def allowed(spec: Object, node: Entry) -> bool:
    """Tell whether nodeSelector and required node affinity allow a node."""
    selector = spec.get("nodeSelector") or {}
    if not selector.items() <= node.labels.items():
        return False
    terms = _terms(spec)
    known = {**node.labels, "metadata.name": node.name}
    return not terms or any(all(item.matches(known) for item in term) for term in terms)


def extended_requests(spec: Object) -> Counter[str]:
    """Sum what a pod's containers request of resources with a domain (``nvidia.com/gpu``); limits imply requests."""
    resources = [item.get("resources") for item in spec.get("containers") or ()]
    return Counter(dict(_extended_requests(encode(resources))))


def misfit(spec: Object, requests: Counter[str], used: Counter[str], node: Entry) -> str | None:
    """Say why a pod does not fit on a node that affinity allows, None when it does."""
    allocatable = (node.obj.get("status") or {}).get("allocatable") or {}
    for name, amount in requests.items():
        if used[name] + amount > _units(allocatable.get(name, "0")):
            return f"Insufficient {name}"
    for taint in _taints(node):
        if taint["effect"] != "PreferNoSchedule" and not _tolerated(taint, spec.get("tolerations") or ()):
            return _taint_text(taint)
    return None


@lru_cache(maxsize=1024)
def _units(quantity: object) -> int:
    return whole_units(quantity)


@lru_cache(maxsize=1024)
def _extended_requests(resources: bytes) -> tuple[tuple[str, int], ...]:
    total: Counter[str] = Counter()
    for item in msgspec.json.decode(resources):
        merged = {**((item or {}).get("limits") or {}), **((item or {}).get("requests") or {})}
        total.update({name: whole_units(value) for name, value in merged.items() if "/" in name})
    return tuple(total.items())


def _terms(spec: Object) -> list[tuple[Requirement, ...]]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return [
        (*requirements(term.get("matchExpressions") or ()), *requirements(term.get("matchFields") or ()))
        for term in required.get("nodeSelectorTerms") or ()
    ]


def _taints(node: Entry) -> Iterator[Object]:
    spec = node.obj.get("spec") or {}
    yield from spec.get("taints") or ()
    if spec.get("unschedulable"):
        yield UNSCHEDULABLE
    if any(item["type"] == "Ready" and item["status"] != "True" for item in conditions(node.obj)):
        yield NOT_READY


def _tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _taint_text(taint: Object) -> str:
    if taint is UNSCHEDULABLE:
        return "node(s) were unschedulable"
    return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
