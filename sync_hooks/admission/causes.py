"""Broken rules in Kubernetes' own words: one function a cause type, each message as kubectl prints it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sync_hooks.admission.value import Value
from sync_hooks.api.errors import ErrorType, FieldError, cut

LONGEST_WORD = 64  # characters; nobody mistypes a longer one, and looking for the nearest is slow
LONGEST_PATH = 400  # characters: a label key and where it stands; a nonsense key may be a megabyte long


def required(where: Value, detail: str) -> FieldError:
    """Say that something is missing or empty."""
    return _error(where, "FieldValueRequired", f"Required value: {detail}")


def invalid(where: Value, detail: str) -> FieldError:
    """Say that a value is not what is accepted here."""
    return _error(where, "FieldValueInvalid", f"Invalid value: {shown(where.json)}: {detail}")


def not_supported(where: Value, supported: Iterable[str]) -> FieldError:
    """Say that a word is none of those that are understood, and which one is nearest."""
    words = list(supported)
    listed = ", ".join(shown(word) for word in words)
    message = f"Unsupported value: {shown(where.json)}: supported values: {listed}{_hint(where.json, words)}"
    return _error(where, "FieldValueNotSupported", message)


def unknown(where: Value, name: str, known: Iterable[str]) -> FieldError:
    """Say that an object has no such field, and which one is nearest."""
    there = Value(where.fields.get(name), (*where.path, name))
    return _error(there, "FieldValueForbidden", f"Forbidden: unknown field {shown(name)}{_hint(name, known)}")


def forbidden(where: Value, detail: str) -> FieldError:
    """Say that something may not be given here, whatever its value."""
    return _error(where, "FieldValueForbidden", f"Forbidden: {detail}")


def duplicate(where: Value) -> FieldError:
    """Say that a value may stand only once."""
    return _error(where, "FieldValueDuplicate", f"Duplicate value: {shown(where.json)}")


def too_long(where: Value, longest: int, unit: str = "characters") -> FieldError:
    """Say that a value is longer than what is kept."""
    return _error(where, "FieldValueTooLong", f"Too long: may not be more than {longest} {unit}")


def too_many(where: Value, count: int, most: int) -> FieldError:
    """Say that a list or a map has too many entries."""
    return _error(where, "FieldValueTooMany", f"Too many: {count}: must have at most {most} items")


def wrong_type(where: Value, wanted: str) -> FieldError:
    """Say that a value is of another type, for example text where a number belongs."""
    detail = f"must be {wanted}, not {type_of(where.json)}"
    if isinstance(where.json, str | int | float):
        return _error(where, "FieldValueTypeInvalid", f"Invalid value: {shown(where.json)}: {detail}")
    return _error(where, "FieldValueTypeInvalid", f'Invalid value: "{type_of(where.json)}": {detail}')


def shown(value: Any) -> str:
    """Write a value for a message: text quoted and cut, containers by their type."""
    if isinstance(value, str):
        return json.dumps(cut(value), ensure_ascii=False)
    if isinstance(value, dict | list):
        return f'"{type_of(value)}"'
    return cut(json.dumps(value))


def type_of(value: Any) -> str:
    """Name the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", dict: "object", list: "array"}
    return names.get(type(value), type(value).__name__)


def nearest(word: Any, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant, None where none is near."""
    if not isinstance(word, str) or len(word) > LONGEST_WORD:
        return None
    return _nearest(word, tuple(known))


@lru_cache(maxsize=256)  # the same mistake often stands in every element of a list
def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches  # only wanted where something is wrong

    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def _hint(word: Any, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f", did you mean {shown(near)}?" if near else ""


def _error(where: Value, type_: ErrorType, message: str) -> FieldError:
    return FieldError(cut(str(where), LONGEST_PATH), type_, message)
