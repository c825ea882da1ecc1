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


class Key(str):
    """A key of a map in a field path, as opposed to the name of a field."""

    __slots__ = ()


Path = tuple[str | int, ...]
"""A field path: names of fields as text, keys of maps as `Key`, list indices as numbers."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule. ``message`` is a full sentence fragment in Kubernetes' manner, value included where it helps."""

    field: str
    type: ErrorType
    message: str


def field_path(path: Sequence[str | int], *, keys_after: frozenset[str] = frozenset()) -> str:
    """Write a path as Kubernetes does: ``spec.env[0].name``, ``spec.thresholds[goodputRatio]``.

    For paths that do not mark their keys, ``keys_after`` names the fields below which keys come.
    """
    text = ""
    parent: str | int = ""
    for part in path:
        if isinstance(part, int | Key) or parent in keys_after:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
        parent = part
    return text


def cut(value: Any, limit: int = 80) -> str:
    """Show a value in a message, cut at ``limit`` characters."""
    text = str(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
