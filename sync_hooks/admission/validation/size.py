"""How large a spec may be, and text that no container can be given: what an object carries on must be carried whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sync_hooks.admission.causes import invalid, too_long, too_many
from sync_hooks.admission.value import DEEPEST, Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import LARGEST_OBJECT_BYTES

MOST_VALUES = 10_000  # of a spec; what is wrong with each of them is found out before the first of it is told
LEAST_VALUE_BYTES = 2  # of JSON: a digit and a comma
TOO_LARGE = ("FieldValueTooLong", "FieldValueTooMany")
UNIT = "bytes of JSON: large files belong into a ConfigMap of their own, named by spec.config.configMapRef"


def written(value: Value) -> bytes | None:
    """Write a value as JSON; None where it came from elsewhere and is none, such as text with half a character."""
    try:
        return msgspec.json.encode(value.json)
    except (TypeError, ValueError, RecursionError):
        return None


def size_errors(spec: Value, content: bytes | None) -> Iterator[FieldError]:
    """Check that a child object can carry the spec, ``content`` as JSON, and find text that holds a NUL."""
    if content is None:
        yield invalid(spec, "cannot be written as JSON")
    elif len(content) > LARGEST_OBJECT_BYTES:
        yield too_long(spec, LARGEST_OBJECT_BYTES, UNIT)
    elif len(content) > LEAST_VALUE_BYTES * MOST_VALUES and (count := _count(spec.json)) > MOST_VALUES:
        yield too_many(spec, count, MOST_VALUES)
    elif b"\\u0000" in content:
        yield from _nul_errors(spec)


def is_too_large(errors: Iterable[FieldError]) -> bool:
    """Tell from its errors whether a spec is too large for a second look."""
    return any(error.field == "spec" and error.type in TOO_LARGE for error in errors)


def _count(value: Any) -> int:
    """Count the values in lists and maps, of all depths."""
    count, left = 0, [value] if isinstance(value, dict | list) else []
    while left:
        parts = left.pop()
        count += len(parts)
        left += [
            part for part in (parts.values() if isinstance(parts, dict) else parts) if isinstance(part, dict | list)
        ]
    return count


def _nul_errors(value: Value, depth: int = DEEPEST) -> Iterator[FieldError]:
    if "\0" in value.text:
        yield invalid(value, "must not hold a NUL character: no process can be given one")
    if depth:
        for child in value.children():
            yield from _nul_errors(child, depth - 1)
