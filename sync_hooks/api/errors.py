"""Errors of rules as values: field path, type, offending value and what would be accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

ErrorType = Literal[
    "FieldValueRequired",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueForbidden",
    "FieldValueDuplicate",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
]
"""Kubernetes' own cause types (metav1.CauseType)."""

Path = tuple[str | int, ...]
"""A field path: names of fields and keys as text, list indices as numbers."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule. ``message`` is a full sentence fragment in Kubernetes' manner, value included where it helps."""

    field: str
    type: ErrorType
    message: str


def field_path(path: Sequence[str | int], *, keys_after: frozenset[str] = frozenset()) -> str:
    """Write a path as Kubernetes does: ``spec.env[0].name``; below a field of ``keys_after`` come map keys: ``[k]``."""
    text = ""
    parent: str | int = ""
    for part in path:
        if isinstance(part, int) or parent in keys_after:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
        parent = part
    return text


def cut(value: Any, limit: int = 80) -> str:
    """Show a value in a message, cut at ``limit`` characters."""
    text = str(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
