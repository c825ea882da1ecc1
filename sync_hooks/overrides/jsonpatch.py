"""JSON Patch (RFC 6902) with JSON Pointer (RFC 6901). The document is left unchanged; a failing patch is a value."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from sync_hooks.api.limits import LARGEST_OBJECT_BYTES

END = "-"  # of a list, where add appends
_INDEX = re.compile("0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class PatchProblem:
    """Why a patch cannot be applied: number of the operation and what is wrong with it."""

    message: str


class _Refused(Exception):
    """Ends one operation; never leaves this module."""


def apply_json_patch(document: Any, patch: Any) -> Any | PatchProblem:
    """Apply a patch, given as a list of operations or as text that holds one; all of it or nothing."""
    if isinstance(patch, str):
        try:
            patch = json.loads(patch)
        except (ValueError, RecursionError) as error:
            return PatchProblem(f"is not JSON: {error}")
    if not isinstance(patch, list):
        return PatchProblem("must be a list of operations, or text that holds one")
    try:
        return _applied(copy.deepcopy(document), patch)
    except RecursionError:
        return PatchProblem("nests values too deeply")
    except (OverflowError, TypeError, ValueError) as error:  # of text: half a character, or a number of many digits
        return PatchProblem(f"makes what cannot be written as JSON: {error}")


def _applied(result: Any, patch: list[Any]) -> Any | PatchProblem:
    """Apply operations to a document that is given away; copies are counted before they are made: each may double."""
    copied = 0
    for number, operation in enumerate(patch):
        try:
            copied += _copied_bytes(result, operation)
            if copied > LARGEST_OBJECT_BYTES:
                return PatchProblem(
                    f"operation {number}: copies must not come to more than {LARGEST_OBJECT_BYTES} bytes in all"
                )
            result = _apply(result, operation)
        except _Refused as refused:
            return PatchProblem(f"operation {number}: {refused}")
    size = len(msgspec.json.encode(result))
    too_large = PatchProblem(f"the result has {size} bytes, and may have {LARGEST_OBJECT_BYTES}")
    return result if size <= LARGEST_OBJECT_BYTES else too_large


def _copied_bytes(document: Any, operation: Any) -> int:
    if not isinstance(operation, Mapping) or operation.get("op") != "copy":
        return 0
    return len(msgspec.json.encode(_get(document, _pointer(operation, "from"))))


def _apply(document: Any, operation: Any) -> Any:
    if not isinstance(operation, Mapping) or not isinstance(operation.get("op"), str):
        raise _Refused("must be an object with op and path")
    action = _ACTIONS.get(operation["op"])
    if action is None:
        raise _Refused(f"op {operation['op']} is unknown; known are {', '.join(sorted(_ACTIONS))}")
    return action(document, operation)


def _pointer(operation: Mapping[str, Any], member: str) -> list[str]:
    pointer = operation.get(member)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _Refused(f"{member} must be empty or start with a slash")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise _Refused("value is missing")
    return copy.deepcopy(operation["value"])


def _index(text: str, last: int) -> int:
    if not _INDEX.fullmatch(text) or int(text) > last:
        raise _Refused(f"index {text} is not within the list")
    return int(text)


def _get(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        if isinstance(document, list):
            document = document[_index(token, len(document) - 1)]
        elif isinstance(document, dict) and token in document:
            document = document[token]
        else:
            raise _Refused(f"there is no {token}")
    return document


def _put(document: Any, tokens: list[str], value: Any) -> Any:
    if not tokens:
        return value
    container, token = _get(document, tokens[:-1]), tokens[-1]
    if isinstance(container, list):
        container.insert(len(container) if token == END else _index(token, len(container)), value)
    elif isinstance(container, dict):
        container[token] = value
    else:
        raise _Refused(f"{token} cannot be added to a plain value")
    return document


def _take(document: Any, tokens: list[str]) -> tuple[Any, Any]:
    """Return the document without the value at a place, and the value."""
    taken = _get(document, tokens)
    if not tokens:
        return None, taken
    container = _get(document, tokens[:-1])
    del container[_index(tokens[-1], len(container) - 1) if isinstance(container, list) else tokens[-1]]
    return document, taken


def _add(document: Any, operation: Mapping[str, Any]) -> Any:
    return _put(document, _pointer(operation, "path"), _value(operation))


def _remove(document: Any, operation: Mapping[str, Any]) -> Any:
    return _take(document, _pointer(operation, "path"))[0]


def _replace(document: Any, operation: Mapping[str, Any]) -> Any:
    tokens, value = _pointer(operation, "path"), _value(operation)
    _get(document, tokens)
    if not tokens:
        return value
    container = _get(document, tokens[:-1])
    container[int(tokens[-1]) if isinstance(container, list) else tokens[-1]] = value
    return document


def _move(document: Any, operation: Mapping[str, Any]) -> Any:
    source, target = _from_and_path(operation)
    rest, taken = _take(document, source)
    return _put(rest, target, taken)


def _copy(document: Any, operation: Mapping[str, Any]) -> Any:
    source, target = _from_and_path(operation)
    return _put(document, target, copy.deepcopy(_get(document, source)))


def _from_and_path(operation: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    source, target = _pointer(operation, "from"), _pointer(operation, "path")
    if target[: len(source)] == source and len(target) > len(source):
        raise _Refused("a value cannot be moved or copied into itself")
    return source, target


def _test(document: Any, operation: Mapping[str, Any]) -> Any:
    found, wanted = _get(document, _pointer(operation, "path")), _value(operation)
    if not _same(found, wanted):
        raise _Refused(f"{operation['path']} is {json.dumps(found)}, not {json.dumps(wanted)}")
    return document


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON does: 1 equals 1.0 but not true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(*pair) for pair in zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


_ACTIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
