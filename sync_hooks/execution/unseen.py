"""Children that were asked for and are not seen: wait, then look, then give up with the reason the cluster gives.

Metacontroller swallows AlreadyExists and reports other failed creations only as events, so nobody tells a hook that a
child cannot be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import Request
from sync_hooks.api.results import Waiting
from sync_hooks.api.sync import GetObject, ListSyncErrors, Observed, Reads, Unreadable
from sync_hooks.execution.waiting import CHILD_GIVE_UP_SECONDS, CHILD_LIVE_READ_SECONDS, wait, waited


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
    waiting = wait(old, f"{kind}NotSeen", f"{kind} {name} is being created", now, f"{kind}/{name}")
    if waited(waiting, now) <= CHILD_LIVE_READ_SECONDS:
        return waiting
    metadata = request.parent.metadata
    live = GetObject(child["apiVersion"], kind, name, metadata.namespace)
    errors = ListSyncErrors(metadata.namespace, metadata.uid)
    if live not in observed or errors not in observed:
        return Reads((live, errors))
    collision = _collision(observed[live], metadata.uid)
    if collision is not None:
        message = f"{kind} {name} {collision}: delete it or choose another name for the run"
        return GivenUp(f"{kind}NameCollision", message)
    text = _error_text(observed[errors])
    if waited(waiting, now) > CHILD_GIVE_UP_SECONDS:
        return GivenUp(f"{kind}CreationError", f"{kind} {name} cannot be created: {text}")
    return waiting.model_copy(update={"message": f"{kind} {name} cannot be created yet: {text}"})


def _collision(live: LiveObject | Unreadable | None, uid: str) -> str | None:
    if live is None or isinstance(live, Unreadable) or live.metadata.deletion_timestamp:
        return None
    return None if live.metadata.controller_uid() == uid else "exists already and belongs to somebody else"


def _error_text(errors: tuple[str, ...] | Unreadable) -> str:
    if isinstance(errors, Unreadable):
        return f"the reason cannot be read: {errors.reason}"
    return errors[0] if errors else "no error was reported"
