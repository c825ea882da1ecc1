"""Answers that every hook gives: keep what is there, follow the live object, report what happened once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sync_hooks.api.conditions import EXCLUSIVE, FAILED, HARDWARE_FAILED, VALIDATION_FAILED, find
from sync_hooks.api.model import Condition
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import Child, MeasurementChild, Request
from sync_hooks.api.sync import Event, GetObject, Result

STALE_RESYNC_SECONDS = 0.5  # the caches catch up within one watch event
UNREADABLE_RESYNC_SECONDS = 10

WARNINGS = frozenset({FAILED, VALIDATION_FAILED, HARDWARE_FAILED})


def stub(child: Child) -> dict[str, Any]:
    """Name an existing child: enough for Metacontroller to keep it under the OnDelete strategy.

    Measurements are updated in place, so that they can be told of an end: what was asked for is asked for again.
    """
    if isinstance(child, MeasurementChild):
        return child.as_applied()
    return {"apiVersion": child.api_version, "kind": child.kind, "metadata": {"name": child.name}}


def stubs(request: Request) -> tuple[dict[str, Any], ...]:
    """Name every child of the request."""
    return tuple(stub(child) for child in request.all_children())


def keep(request: Request, resync_after: float = 0) -> Result:
    """Change nothing: the status and every child stay as they are."""
    return Result(status=_as_dict(request.parent.status), children=stubs(request), resync_after=resync_after)


def own_read(parent: LiveObject) -> GetObject:
    """Return the read that shows the parent as it is now, not as the caches had it."""
    return GetObject(parent.api_version, parent.kind, parent.metadata.name, parent.metadata.namespace)


def is_current(parent: LiveObject, live: LiveObject) -> bool:
    """Tell whether the request shows the parent as it is now."""
    return live.metadata.resource_version == parent.metadata.resource_version


def transitions(old: Sequence[Condition], new: Sequence[Condition]) -> tuple[Event, ...]:
    """Make one event for each condition that became True, none for a changed message."""
    return tuple(_event(condition) for condition in new if _became_true(condition, old))


def _became_true(condition: Condition, old: Sequence[Condition]) -> bool:
    before = find(old, condition.type)
    shown = condition.type in EXCLUSIVE or condition.type in WARNINGS
    return shown and condition.status == "True" and (before is None or before.status != "True")


def _event(condition: Condition) -> Event:
    severity = "Warning" if condition.type in WARNINGS else "Normal"
    return Event(severity, condition.reason, condition.message, condition.type)


def first(texts: Iterable[str], limit: int) -> list[str]:
    """Return the first texts, and a last one that tells how many more there are."""
    known = list(texts)
    rest = len(known) - limit
    return known if rest <= 0 else [*known[:limit], f"and {rest} more"]


def _as_dict(status: Any) -> dict[str, Any]:
    return dict(status) if isinstance(status, dict) else {}
