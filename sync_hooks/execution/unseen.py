"""Children that were asked for and are not seen: wait, then look, then give up with the reason the cluster gives.

Metacontroller swallows AlreadyExists and reports other failed creations only as events, so nobody tells a hook that a
child cannot be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sync_hooks.api.observed import LiveObject, Told
from sync_hooks.api.request import Request
from sync_hooks.api.results import Waiting
from sync_hooks.api.sync import GetObject, ListEvents, Observed, Reads, Unreadable
from sync_hooks.execution.ownership import standing, taken, what_goes
from sync_hooks.execution.waiting import (
    CHILD_GIVE_UP_SECONDS,
    CHILD_LIVE_READ_SECONDS,
    OVERDUE,
    is_overdue,
    next_look,
    wait,
    wait_within,
    waited,
)

SYNC_ERROR = "SyncError"  # Metacontroller's reason for what it could not do with a parent's children


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The child will not come: why, as a condition's reason and message."""

    reason: str
    message: str


def look_for(
    request: Request, old: Waiting | None, child: Mapping[str, Any], observed: Observed, now: datetime
) -> Reads | Waiting | GivenUp:
    """Say what is to be done about a child that is not seen yet; ``child`` is the whole object that was asked for."""
    kind, name = child["kind"], child["metadata"]["name"]
    reason, object_, text = f"{kind}NotSeen", f"{kind}/{name}", f"{kind} {name} is being created"
    waiting = wait_within(CHILD_GIVE_UP_SECONDS, old, reason, text, now, object_)
    if waiting and not is_overdue(waiting) and waited(waiting, now) <= CHILD_LIVE_READ_SECONDS:
        return waiting
    metadata = request.parent.metadata
    live = GetObject(child["apiVersion"], kind, name, metadata.namespace)
    errors = ListEvents(metadata.namespace, SYNC_ERROR, metadata.uid)
    if live not in observed or errors not in observed:
        return Reads((live, errors))
    found = observed[live]
    whose = standing(found, request.parent) if isinstance(found, LiveObject) else None
    if isinstance(found, LiveObject) and whose == "foreign":
        return GivenUp(f"{kind}NameCollision", taken(found))
    text = what_goes(found) if whose == "going" else _problem(kind, name, found, observed[errors])
    if waiting is None and (found is None or whose == "going"):
        return GivenUp(f"{kind}CreationError", text)
    waiting = waiting or wait(None, f"{reason}{OVERDUE}", text, now, object_)  # it is there, or nobody knows
    return waiting.model_copy(update={"message": text})


def look_again(waiting: Waiting, now: datetime) -> float:
    """Seconds until a child that was asked for is looked for: one that appears is told of by itself."""
    return next_look(waiting, now, nothing_before=CHILD_LIVE_READ_SECONDS)


def _problem(kind: str, name: str, found: LiveObject | Unreadable | None, errors: tuple[Told, ...] | Unreadable) -> str:
    if found is None:
        return f"{kind} {name} cannot be created: {_error_text(errors)}"
    if isinstance(found, Unreadable):
        return f"{kind} {name} is not seen and cannot be read: {found.reason}"
    return f"{kind} {name} is there and not seen yet"


def _error_text(errors: tuple[Told, ...] | Unreadable) -> str:
    if isinstance(errors, Unreadable):
        return f"the reason cannot be read: {errors.reason}"
    return errors[0].message if errors else "no error was reported"
