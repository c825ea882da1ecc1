"""Label selectors, by the rules of Kubernetes' own. What is not understood matches nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sync_hooks.api.observed import Node
from sync_hooks.api.target import NodeSelectorRequirement, TaintSelector

_WHOLE = re.compile(r"[+-]?\d{1,19}")


def meets(labels: Mapping[str, str], requirement: NodeSelectorRequirement) -> bool:
    """Tell whether labels meet one requirement; NotIn holds where the label is absent."""
    return holds(labels, requirement.key, requirement.operator, requirement.values or ())


def holds(known: Mapping[str, str], key: str, operator: str, values: Sequence[str]) -> bool:
    """Tell whether labels, or fields of a node, are as an operator of node affinity wants them."""
    value = known.get(key)
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _compared(value, values) > 0
        case "Lt":
            return _compared(value, values) < 0
    return False


def _compared(value: str | None, values: Sequence[str]) -> int:
    """Return the sign of a label's number less the wanted one; 0 where one of them is no whole number."""
    if value is None or len(values) != 1 or not (_WHOLE.fullmatch(value) and _WHOLE.fullmatch(str(values[0]))):
        return 0
    mine, wanted = int(value), int(values[0])
    return (mine > wanted) - (mine < wanted)


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
