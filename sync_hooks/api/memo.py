"""A memory of what was worked out from an input that comes again: bounded in bytes, and never needed for an answer.

Nothing is looked up by the input itself, which may be large, but by a hash of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

ENTRY_BYTES = 500  # of a key and what goes with it
TIMES_JSON = 8  # measured: a parsed plan or result takes four to seven times its JSON

Value = TypeVar("Value")


class Memo(Generic[Value]):
    """Values by key, those that were asked for last; one a process, shared by its threads."""

    def __init__(self, most_bytes: int) -> None:
        """Start empty, with room for so much."""
        self._most = most_bytes
        self._held = 0
        self._values: OrderedDict[Hashable, tuple[int, Value]] = OrderedDict()
        self._guard = Lock()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of a key; None where it is not known, or no longer."""
        with self._guard:
            known = self._values.get(key)
            if known is None:
                return None
            self._values.move_to_end(key)
            return known[1]

    def keep(self, key: Hashable, value: Value, size: int) -> Value:
        """Keep a value of so many bytes and return it; others go for it, and one too large for all room is not kept."""
        size += ENTRY_BYTES
        with self._guard:
            if key in self._values or size > self._most:
                return value
            self._values[key] = (size, value)
            self._held += size
            while self._held > self._most:
                _, (gone, _) = self._values.popitem(last=False)
                self._held -= gone
        return value

    def __len__(self) -> int:
        """Return how many values are kept."""
        return len(self._values)


def size_of(value: Any) -> int:
    """Estimate the bytes that a parsed value takes."""
    return TIMES_JSON * len(msgspec.json.encode(value))
