"""Asks a hook as the edge does: reads what it wants from a small world until it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from cli.inputs import shipped_profiles
from sync_hooks.api.observed import LiveObject, Log
from sync_hooks.api.request import Request
from sync_hooks.api.sync import Answer, GetLogProfile, GetObject, ListPods, Observed, Read, ReadLog, Reads, Result

Hook = Callable[[Request, Observed, datetime], Answer]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
MOST_ROUNDS = 6


def ask(hook: Hook, request: Request, world: Mapping[Read, Any], now: datetime) -> Result:
    """Return the hook's answer; what ``world`` does not tell is as in a healthy cluster without anything else in it."""
    observed: dict[Read, Any] = {}
    for _ in range(MOST_ROUNDS):
        answer = hook(request, observed, now)
        if not isinstance(answer, Reads):
            assert isinstance(answer, Result), answer
            return answer
        observed.update({read: _found(read, world) for read in answer.reads})
    raise AssertionError(f"the hook asks for more and more: {sorted(map(str, observed))}")


def _found(read: Read, world: Mapping[Read, Any]) -> Any:
    if read in world:
        return world[read]
    if isinstance(read, ListPods):
        return world.get(ListPods(read.namespace, read.jobset, fresh=not read.fresh), ())
    if isinstance(read, ReadLog):
        return Log()
    if isinstance(read, GetLogProfile):
        return installed().get(read.name)
    if isinstance(read, GetObject):
        return healthy(read.name) if read.kind == "Node" else None
    return ()


@cache
def installed() -> Mapping[str, LiveObject]:
    """Return the LogProfiles that come with the product, by name, as they are read live."""
    return {profile["metadata"]["name"]: msgspec.convert(profile, LiveObject) for profile in shipped_profiles()}


def healthy(name: str, **spec: Any) -> LiveObject:
    """Make a node that nothing is wrong with, as it is read live; keywords are fields of its spec."""
    return msgspec.convert({"kind": "Node", "metadata": {"name": name}, "spec": spec, "status": READY}, LiveObject)
