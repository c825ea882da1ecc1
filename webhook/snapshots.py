"""What many hook calls ask for at a time, fetched once for all of them; nobody waits for longer than a call may take.

A value is shared with whoever allows its age, a failure only with those who asked before it ended: asked again, the
API server may answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Generic, TypeVar, cast

import msgspec

from sync_hooks.api.sync import Unreadable
from webhook.apiserver import ApiError

KEPT_SECONDS = 300  # what nobody asks for any more: a namespace's pods, a LogProfile

Value = TypeVar("Value")


class OverTime(Exception):
    """The call has no time left for reading, which says nothing about the API server to others."""


def tried(read: Callable[[], Value | Unreadable]) -> Value | Unreadable:
    """Read; a failure is a value, which others may share."""
    try:
        return read()
    except ApiError as error:
        return Unreadable(str(error))
    except msgspec.DecodeError as error:
        return Unreadable(f"the API server's answer cannot be understood: {error}")


@dataclass(slots=True)
class _Kept(Generic[Value]):
    """What the last fetch of a key brought, and who fetches it now."""

    asked: float
    fetching: threading.Lock = field(default_factory=threading.Lock)
    value: Value | None = None
    began: float = -inf
    failure: Unreadable = Unreadable("")
    failed: float = -inf


@dataclass(slots=True)
class Snapshots(Generic[Value]):
    """Values by key, each at most so old; one thread fetches, the others wait for it. Old ones are forgotten."""

    _keys: dict[Hashable, _Kept[Value]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def get(
        self, key: Hashable, max_age: float, fetch: Callable[[], Value | Unreadable], until: float = inf
    ) -> Value | Unreadable:
        """Return the value of a key, fetched anew where the known one is older than ``max_age`` seconds.

        Raises OverTime at the moment ``until`` where another thread still fetches it.
        """
        asked = monotonic()
        with self._guard:
            kept = self._keys.setdefault(key, _Kept(asked))
            kept.asked = asked
        if not kept.fetching.acquire(timeout=min(max(until - asked, 0), threading.TIMEOUT_MAX)):
            raise OverTime
        try:
            if kept.began >= asked - max_age:
                return cast("Value", kept.value)
            return kept.failure if kept.failed >= asked else self._fetch(kept, fetch)
        finally:
            kept.fetching.release()

    def __len__(self) -> int:
        """Return how many keys are kept."""
        return len(self._keys)

    def _fetch(self, kept: _Kept[Value], fetch: Callable[[], Value | Unreadable]) -> Value | Unreadable:
        began = monotonic()  # what changes during the fetch may be in it or not
        try:
            found = tried(fetch)
            if isinstance(found, Unreadable):
                kept.failure, kept.failed = found, monotonic()
            else:
                kept.value, kept.began = found, began
            return found
        finally:
            self._forget(began - KEPT_SECONDS)

    def _forget(self, before: float) -> None:
        """Forget what nobody has asked for since; who still waits for it fetches a second time."""
        with self._guard:
            for old in [key for key, kept in self._keys.items() if kept.asked < before]:
                del self._keys[old]
