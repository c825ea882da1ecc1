"""How large a spec may be, and text that no container can be given: what an object carries on must be carried whole."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sync_hooks.admission.causes import invalid, too_long
from sync_hooks.admission.value import DEEPEST, Value
from sync_hooks.api.errors import FieldError

MOST_BYTES = 240_000  # Metacontroller keeps each child a second time in an annotation, and annotations end at 262,144
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
    elif len(content) > MOST_BYTES:
        yield too_long(spec, MOST_BYTES, UNIT)
    elif b"\\u0000" in content:
        yield from _nul_errors(spec)


def _nul_errors(value: Value, depth: int = DEEPEST) -> Iterator[FieldError]:
    if "\0" in value.text:
        yield invalid(value, "must not hold a NUL character: no process can be given one")
    if depth:
        for child in value.children():
            yield from _nul_errors(child, depth - 1)
