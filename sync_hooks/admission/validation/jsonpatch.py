"""JSON patches of the Job template: operations as RFC 6902 has them, at places that a Job template has.

What an operation writes is judged as the merge patch that would write the same, so that both are asked the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sync_hooks.admission.causes import invalid, not_supported, required, unknown, wrong_type
from sync_hooks.admission.official.shape import official_errors, type_at
from sync_hooks.admission.validation.directives import SIGN, literal_errors
from sync_hooks.admission.validation.jobtemplate import TRAIN_JOB, job_template_errors
from sync_hooks.admission.value import DEEPEST, MAPS, Value
from sync_hooks.api.errors import FieldError, cut
from sync_hooks.overrides.jsonpatch import END

OPERATIONS = {
    "add": ("value",),
    "copy": ("from",),
    "move": ("from",),
    "remove": (),
    "replace": ("value",),
    "test": ("value",),
}
"""Operations, each with the members that it needs besides the path."""

NOWHERE = "leads to no field of a Job template"
NO_MERGE = "a directive of a merge has no meaning in a JSON patch"
UNKNOWN = "Forbidden: unknown field"
_TRAIN_JOB_PARTS = ("spec", "workload", "trainJob")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


def json_patch_errors(patch: Value, around: Mapping[str, Any]) -> Iterator[FieldError]:
    """Check a patch given as a list of operations, or as text that holds one; ``around`` as for a merge patch."""
    if not patch.present:
        return
    operations = _parsed(patch)
    if isinstance(operations, FieldError):
        yield operations
        return
    if not operations.json:
        yield required(patch, "must hold at least one operation")
    for operation in operations.elements():
        if isinstance(operation.json, dict):
            yield from _operation_errors(operation)
            yield from _effect_errors(operation, around)
        else:
            yield wrong_type(operation, "an object")


def _parsed(patch: Value) -> Value | FieldError:
    if isinstance(patch.json, str):
        try:
            operations: Any = json.loads(patch.json)
        except (ValueError, RecursionError):
            return invalid(patch, "must be a list of operations, or text that holds one as JSON")
        patch = Value(operations, patch.path)
    return patch if isinstance(patch.json, list) else wrong_type(patch, "a list of operations, or text that holds one")


def _operation_errors(operation: Value) -> Iterator[FieldError]:
    action = operation.field("op")
    if not action.present:
        yield required(action, f"must be one of {', '.join(OPERATIONS)}")
        return
    if not isinstance(action.json, str) or action.json not in OPERATIONS:
        yield not_supported(action, OPERATIONS)
        return
    needed = ("path", *OPERATIONS[action.json])
    yield from (required(operation.field(name), "must be given") for name in needed if name not in operation.fields)
    yield from (
        unknown(operation, name, needed) for name in operation.fields if name not in ("op", "path", "from", "value")
    )
    for name in ("path", "from"):
        if name in operation.fields:
            yield from _pointer_errors(operation.field(name))
    source, target = operation.field("from").json, operation.field("path").json
    if "from" in needed and isinstance(source, str) and isinstance(target, str) and target.startswith(f"{source}/"):
        yield invalid(operation.field("path"), f"must not lie within from, {cut(source)}: no value can hold itself")


def _pointer_errors(pointer: Value) -> Iterator[FieldError]:
    if not isinstance(pointer.json, str):
        yield wrong_type(pointer, "a JSON pointer")
    elif not _POINTER.fullmatch(pointer.json):
        yield invalid(pointer, "must be a JSON pointer: each part begins with '/', '~' is written ~0 and '/' ~1")
    elif _parts(pointer) is None:
        yield invalid(pointer, NOWHERE)


def _effect_errors(operation: Value, around: Mapping[str, Any]) -> Iterator[FieldError]:
    """Check places and value: a patch of what a Job template has not would fail when the run is planned."""
    for pointer in (operation.field("path"), operation.field("from")):
        if (parts := _parts(pointer)) is not None:
            given = operation.field("value") if pointer.path[-1] == "path" and _writes(operation) else None
            yield from _place_errors(parts, pointer, given, around)


def _place_errors(
    parts: Sequence[str], pointer: Value, given: Value | None, around: Mapping[str, Any]
) -> Iterator[FieldError]:
    """Judge a value, or None where there is only its place, as a merge patch of what is there."""
    if given is not None and given.json is None:
        yield wrong_type(given, "left out where nothing is meant; op remove takes away")
        return
    if any(part.startswith(SIGN) for part in parts):
        yield invalid(pointer, NOWHERE)
    if given:
        yield from literal_errors(given, NO_MERGE)
    place = _place(parts)
    patch = Value(_laid_at(parts, given.json if given else None))
    if patch.json is not None and not isinstance(patch.json, dict):
        yield wrong_type(given or pointer, "an object")
        return
    depth = len(_TRAIN_JOB_PARTS)
    within = tuple(parts[:depth]) == _TRAIN_JOB_PARTS
    for error in job_template_errors(patch, around, part=within):
        rest = error.field.removeprefix(place)
        if given and error.field.startswith(place) and not (rest == "" and error.type == "FieldValueForbidden"):
            yield replace(error, field=f"{given}{rest if place else '.' + rest}")
        elif error.message.startswith(UNKNOWN) or error.field == place or _blocks(error, place):
            yield _misplaced(error, pointer)
    if given and within and (type_ := type_at(TRAIN_JOB, parts[depth:])):
        yield from official_errors(given, type_)  # whole, and without directives of a merge


def _blocks(error: FieldError, place: str) -> bool:
    """Tell whether an error is that the way to a place leads through a plain value."""
    return error.type == "FieldValueTypeInvalid" and place.startswith(error.field)


def _misplaced(error: FieldError, pointer: Value) -> FieldError:
    """Tell of a place at the pointer that leads there."""
    if error.message.startswith(UNKNOWN):
        return invalid(pointer, f"leads to an {error.message.removeprefix('Forbidden: ')}")
    if error.type == "FieldValueForbidden":
        return replace(error, field=str(pointer))
    return invalid(pointer, NOWHERE)


def patched(patch: Value) -> Iterator[tuple[Value, Value]]:
    """Yield what the operations of a patch write, each as a merge patch of the Job template, and the value's place."""
    operations = _parsed(patch) if patch.present else patch
    for operation in operations.elements() if isinstance(operations, Value) else ():
        parts = _parts(operation.field("path"))
        if parts is not None and _writes(operation):
            yield Value(_laid_at(parts, operation.field("value").json)), operation.field("value")


def _writes(operation: Value) -> bool:
    return operation.field("op").json in ("add", "replace") and "value" in operation.fields


def _parts(pointer: Value) -> list[str] | None:
    """Read a pointer, None where there is none, or one that no Job template is deep enough for."""
    if not isinstance(pointer.json, str) or not _POINTER.fullmatch(pointer.json) or pointer.json.count("/") > DEEPEST:
        return None
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.json.split("/")[1:]]


def _laid_at(parts: Sequence[str], value: Any) -> Any:
    """Write a value with everything around it that its place says; of a list it is the only element."""
    for above, part in reversed(list(pairwise(["", *parts]))):
        value = [value] if _is_index(part, above) else {part: value}
    return value


def _place(parts: Sequence[str]) -> str:
    """Write the place of such a value as a field's path."""
    value = Value(None)
    for part in parts:
        above = str(value.path[-1]) if value.path else ""
        value = Value(None, (*value.path, 0)) if _is_index(part, above) else value.member(part)
    return str(value)


def _is_index(part: str, above: str) -> bool:
    return above not in MAPS and (part == END or part.isdecimal())
