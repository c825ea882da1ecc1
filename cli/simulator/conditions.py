"""Conditions of the engines' own objects, set as apimachinery sets them: the time moves with the status only."""

from __future__ import annotations

from collections.abc import Iterable

from cli.simulator.entry import Object


def is_true(obj: Object, *types: str) -> bool:
    """Tell whether an object has a condition of one of these types that is True."""
    return any(item["type"] in types and item["status"] == "True" for item in conditions(obj))


def conditions(obj: Object) -> list[Object]:
    """List the conditions of an object."""
    found: list[Object] = (obj.get("status") or {}).get("conditions") or []
    return found


def condition(type_: str, reason: str, message: str, now: str, *, status: str = "True") -> Object:
    """Write a condition."""
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": now}


def with_condition(existing: Iterable[Object], new: Object) -> list[Object]:
    """Set one condition in its place or at the end; an unchanged status keeps its time."""
    result = list(existing)
    for index, old in enumerate(result):
        if old["type"] == new["type"]:
            same = old["status"] == new["status"]
            result[index] = {**new, "lastTransitionTime": old["lastTransitionTime"]} if same else new
            return result
    return [*result, new]


def without_condition(existing: Iterable[Object], type_: str) -> list[Object]:
    """Take a condition away."""
    return [item for item in existing if item["type"] != type_]
