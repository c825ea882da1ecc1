"""JSON patches of the Job template: operations as RFC 6902 has them, at places that a Job template has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sync_hooks.admission.causes import invalid, not_supported, required, unknown, wrong_type
from sync_hooks.admission.validation.jobtemplate import TOP_FIELDS, spec_fields
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError, cut

OPERATIONS = {
    "add": ("value",),
    "copy": ("from",),
    "move": ("from",),
    "remove": (),
    "replace": ("value",),
    "test": ("value",),
}
"""Operations, each with the members that it needs besides the path."""

_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


def json_patch_errors(patch: Value) -> Iterator[FieldError]:
    """Check a patch given as a list of operations, or as text that holds one."""
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
    else:
        yield from _place_errors(pointer, pointer.json.split("/")[1:])


def _place_errors(pointer: Value, parts: list[str]) -> Iterator[FieldError]:
    """Check that a Job template has such a place: a patch of another would fail when the run is planned."""
    if parts and parts[0] not in TOP_FIELDS:
        yield invalid(pointer, f"a Job template has {' and '.join(f'/{name}' for name in TOP_FIELDS)}")
    elif len(parts) > 1 and parts[0] == "spec" and parts[1] not in spec_fields():
        yield invalid(pointer, f"the spec of a Job has {', '.join(spec_fields())}")
