"""What a pod requests and limits, by the sum that the scheduler and quotas count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from sync_hooks.api.quantity import parse_quantity
from sync_hooks.api.trainer import JsonObject

Amounts = Mapping[str, Fraction]
GIBIBYTE = 1 << 30
ZERO = Fraction(0)
OF_PODS = ("cpu", "memory", "hugepages-")
"""Resources that a pod may name for all its containers together; the last is a prefix."""


def requests(pod: JsonObject) -> Amounts:
    """Return what a pod requests; what is only limited is requested too, by the API server's default."""
    return _of_pod(pod, ("limits", "requests"))


def limits(pod: JsonObject) -> Amounts:
    """Return what a pod may use at most of what its containers limit."""
    return _of_pod(pod, ("limits",))


def total(amounts: Iterable[Amounts]) -> Amounts:
    """Add amounts up, by resource."""
    found: dict[str, Fraction] = {}
    for one in amounts:
        for name, amount in one.items():
            found[name] = found.get(name, ZERO) + amount
    return found


def shown(resource: str, amount: Fraction) -> str:
    """Write an amount for people."""
    if resource.endswith(("memory", "storage")) and amount >= GIBIBYTE:
        return f"{round(float(amount / GIBIBYTE), 1):g}Gi"
    return f"{float(amount):g}" if amount.denominator > 1 else str(amount.numerator)


def _of_pod(pod: JsonObject, fields: tuple[str, ...]) -> Amounts:
    """Add up containers; init containers run one by one before them, each beside the sidecars that stand before it.

    What the pod itself names counts instead; what it only limits it requests where no container requests any.
    """
    counted = [_named(container, fields) for container in pod.get("containers") or ()]
    sidecars: list[Amounts] = []
    peaks: list[Amounts] = []
    for container in pod.get("initContainers") or ():
        named = _named(container, fields)
        if container.get("restartPolicy") == "Always":
            sidecars.append(named)
        else:
            peaks.append(total([named, *sidecars]))
    found = _largest([total([*counted, *sidecars]), *peaks])
    own = dict(_pods_own(pod, fields[-1:]))
    implied = {name: amount for name, amount in _pods_own(pod, fields) if name not in found}
    return {**found, **implied, **own}


def _named(container: JsonObject, fields: tuple[str, ...]) -> Amounts:
    return dict(_amounts(container, fields))


def _pods_own(pod: JsonObject, fields: tuple[str, ...]) -> Iterator[tuple[str, Fraction]]:
    return ((name, amount) for name, amount in _amounts(pod, fields) if name.startswith(OF_PODS))


def _amounts(holder: JsonObject, fields: tuple[str, ...]) -> Iterator[tuple[str, Fraction]]:
    """Yield what the resources of a pod or container name; of two fields the later one counts."""
    resources: Mapping[str, Any] = holder.get("resources") or {}
    for field in fields:
        for name, given in (resources.get(field) or {}).items():
            amount = parse_quantity(given)
            if amount is not None:
                yield name, amount


def _largest(amounts: Iterable[Amounts]) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for one in amounts:
        for name, amount in one.items():
            found[name] = max(found.get(name, amount), amount)
    return found
