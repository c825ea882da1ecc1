"""Which nodes a pod's nodeName, nodeSelector and required node affinity allow, read as the scheduler reads them.

Taints and amounts are judged elsewhere. What is of no known shape allows nothing, as with the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sync_hooks.api.observed import Node
from sync_hooks.cluster.selectors import holds


def not_allowed(pod: Mapping[str, Any], node: Node, *, affinity: bool = True) -> str | None:
    """Return why a pod may not go onto a node, None where it may; ``affinity`` tells whether its affinity counts."""
    if (name := pod.get("nodeName")) and name != node.name:
        return f"the pods' nodeName is {name}"
    for key, value in (pod.get("nodeSelector") or {}).items():
        if node.labels.get(key) != value:
            return f"the pods' nodeSelector asks for {key}={value}"
    terms = required_terms(pod) if affinity else None
    if terms is None or any(_meets(term, node) for term in terms):
        return None
    return "does not meet the pods' required node affinity"


def required_terms(pod: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the terms of a pod's required node affinity, of which one must hold; None where it has none."""
    node_affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else list(required.get("nodeSelectorTerms") or ())


def _meets(term: Mapping[str, Any], node: Node) -> bool:
    """Tell whether a node meets one term; an empty one is met by none."""
    found = [*_requirements(term, "matchExpressions", node.labels)]
    found += _requirements(term, "matchFields", {"metadata.name": node.name})
    return bool(found) and all(found)


def _requirements(term: Mapping[str, Any], field: str, known: Mapping[str, str]) -> Iterator[bool]:
    for one in term.get(field) or ():
        yield holds(known, str(one.get("key")), str(one.get("operator")), one.get("values") or ())
