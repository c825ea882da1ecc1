"""Two ways to lay a patch over an object: as a merge patch, and with lists that merge by name. Both leave it unchanged.

In both, maps merge and null deletes a key. In a merge patch lists replace; in an object merge lists of named entries
merge by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DIRECTIVE = "$patch"
REPLACE = "replace"
DELETE = "delete"

_KEYS = {"volumeMounts": "mountPath"}  # two mounts of one volume are two entries; all other lists go by name
_UNIONS = frozenset({"env", "volumes", "resourceClaims"})  # an entry is of one kind or of another, never of two


class UnknownDirectiveError(ValueError):
    """A patch holds a directive of strategic merge that has no meaning here."""


def merge_patch(base: Any, patch: Any) -> Any:
    """Lay a strategic merge patch over an object whose lists have no merge keys.

    ``$patch: replace`` and ``$patch: delete`` work in maps; any other directive raises UnknownDirectiveError.
    """
    if not isinstance(patch, Mapping):
        return patch
    _check_directives(patch)
    content = {key: value for key, value in patch.items() if key != DIRECTIVE}
    if patch.get(DIRECTIVE) == DELETE:
        return {}
    start = base if isinstance(base, Mapping) and patch.get(DIRECTIVE) != REPLACE else {}
    merged = dict(start)
    for key, value in content.items():
        if value is None or (isinstance(value, Mapping) and value.get(DIRECTIVE) == DELETE):
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(start.get(key), value)
    return merged


def merge_object(base: Any, patch: Any, field: str = "") -> Any:
    """Lay one object over another of the same kind and name; ``field`` is the key that both are values of."""
    if isinstance(patch, Mapping):
        start = base if isinstance(base, Mapping) else {}
        merged = dict(start)
        for key, value in patch.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = merge_object(start.get(key), value, key)
        return merged
    if isinstance(patch, list):
        key = _KEYS.get(field, "name")
        if _all_named(base, key) and _all_named(patch, key):
            return _merge_named(base, patch, key, field)
        return [merge_object(None, entry) for entry in patch]
    return patch


def _check_directives(patch: Mapping[str, Any]) -> None:
    unknown = sorted(key for key in patch if key.startswith("$") and key != DIRECTIVE)
    if unknown or patch.get(DIRECTIVE, REPLACE) not in (REPLACE, DELETE):
        shown = unknown[0] if unknown else f"{DIRECTIVE}: {patch[DIRECTIVE]}"
        raise UnknownDirectiveError(f"directive {shown} is not supported; only $patch with replace or delete is")


def _all_named(value: Any, key: str) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, Mapping) and isinstance(entry.get(key), str) for entry in value)
    )


def _merge_named(base: Sequence[Any], patch: Sequence[Any], key: str, field: str) -> list[Any]:
    """Merge entries of the same name in place and append new ones; of a repeated name the last entry counts."""
    merged = {entry[key]: entry for entry in base}
    for entry in patch:
        old = merged.get(entry[key])
        shared = old is not None and (field not in _UNIONS or len(old.keys() & entry.keys()) > 1)
        merged[entry[key]] = merge_object(old if shared else None, entry)
    return list(merged.values())
