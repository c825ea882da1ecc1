"""The difference that defaulting made, as a JSON patch (RFC 6902). Knows additions only: defaulting makes no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Operation = dict[str, Any]


def additions(before: Any, after: Any) -> list[Operation]:
    """Return the operations that turn ``before`` into ``after``, which has all of it and members beside."""
    return list(_additions(before, after, ""))


def _additions(before: Any, after: Any, place: str) -> Iterator[Operation]:
    if before is after or not isinstance(before, dict) or not isinstance(after, dict):
        return
    for name, value in after.items():
        pointer = f"{place}/{escape(name)}"
        if name in before:
            yield from _additions(before[name], value, pointer)
        else:
            yield {"op": "add", "path": pointer, "value": value}


def escape(name: str) -> str:
    """Write a name as one part of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
