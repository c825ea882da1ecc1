"""Directives of a strategic merge: keys that begin with '$'. Only maps of a Job template are merged by any."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import forbidden, not_supported
from sync_hooks.admission.value import DEEPEST, Value
from sync_hooks.api.errors import FieldError
from sync_hooks.overrides.merge import DELETE, DIRECTIVE, REPLACE

SIGN = "$"
OF_DRIVERS = frozenset({"parameters", "volumeAttributes"})
"""Fields whose content is a driver's own, for which such a key may mean something."""

LITERAL = "a directive has no meaning here and would be a field: maps merge, null deletes, entries merge by name"
IN_LISTS = "a directive has no meaning below a list, which replaces what is there: write the whole list"
ALONE = f"only {DIRECTIVE}, with {REPLACE} or {DELETE}, is supported"


def literal_errors(value: Value, why: str = LITERAL, depth: int = DEEPEST) -> Iterator[FieldError]:
    """Refuse directives at any depth, because nothing there is merged by them."""
    for child in value.children():
        name = child.path[-1]
        if isinstance(name, str) and name.startswith(SIGN):
            yield forbidden(child, why)
        elif depth and name not in OF_DRIVERS:
            yield from literal_errors(child, why, depth - 1)


def merge_errors(value: Value, depth: int = DEEPEST) -> Iterator[FieldError]:
    """Refuse directives of a Job template that its merge does not know, or does not see because it replaces lists."""
    if isinstance(value.json, list):
        yield from literal_errors(value, IN_LISTS, depth)
    for name in value.fields:
        child = value.member(name)
        if name == DIRECTIVE and child.json not in (REPLACE, DELETE):
            yield not_supported(child, (REPLACE, DELETE))
        elif name.startswith(SIGN) and name != DIRECTIVE:
            yield forbidden(child, ALONE)
        elif depth:
            yield from merge_errors(child, depth - 1)
