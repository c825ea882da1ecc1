"""Label selectors, by the rules of Kubernetes' own. What is not understood matches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sync_hooks.api.observed import Node
from sync_hooks.api.target import NodeSelectorRequirement, TaintSelector


def meets(labels: Mapping[str, str], requirement: NodeSelectorRequirement) -> bool:
    """Tell whether labels meet one requirement; NotIn holds where the label is absent."""
    value, values = labels.get(requirement.key), requirement.values or ()
    match requirement.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def meets_all(labels: Mapping[str, str], requirements: Iterable[NodeSelectorRequirement]) -> bool:
    """Tell whether labels meet every requirement."""
    return all(meets(labels, requirement) for requirement in requirements)


def carries_all(node: Node, selectors: Iterable[TaintSelector]) -> bool:
    """Tell whether a node carries every one of these taints; an empty value or effect means any."""
    return all(
        any(
            taint.key == selector.key
            and (not selector.value or taint.value == selector.value)
            and (not selector.effect or taint.effect == selector.effect)
            for taint in node.spec.taints
        )
        for selector in selectors
    )
