"""Defaults written into objects. Only adds what is absent: nothing given is changed, and any shape is survived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sync_hooks.api.limits import DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class Default:
    """A value for a field that is absent. ``makes_parent`` creates the object around it too, where that is absent."""

    path: tuple[str, ...]
    value: str
    makes_parent: bool = False


RUN_DEFAULTS = (
    Default(("spec", "gangScheduler", "queue"), DEFAULT_QUEUE),
    Default(("spec", "framework", "mpi", "mpiImplementation"), "OpenMPI"),
    Default(("spec", "orchestration", "timeoutPerJob"), "24h", makes_parent=True),
)


def defaulted(obj: Any, defaults: Iterable[Default]) -> Any:
    """Return the object with every absent default added; the one given stays as it is, and so do its other parts."""
    for default in defaults:
        obj = _added(obj, default.path, default.value, makes_parent=default.makes_parent)
    return obj


def carried_over(obj: Any, old: Any, defaults: Iterable[Default]) -> Any:
    """Return the object with those defaulted fields that it lacks and the stored one has.

    A default added now to an object that was stored without it would be a change of its immutable spec.
    """
    for default in defaults:
        value = _found(old, default.path)
        if value is not None:
            obj = _added(obj, default.path, value, makes_parent=default.makes_parent)
    return obj


def _added(obj: Any, path: tuple[str, ...], value: Any, *, makes_parent: bool) -> Any:
    """Copy along the path and add the value at its end; the same object where that does not go."""
    if not isinstance(obj, dict):
        return obj
    name, rest = path[0], path[1:]
    if not rest:
        return obj if name in obj else {**obj, name: value}
    if name not in obj:
        return {**obj, name: {rest[0]: value}} if makes_parent and len(rest) == 1 else obj
    child = _added(obj[name], rest, value, makes_parent=makes_parent)
    return obj if child is obj[name] else {**obj, name: child}


def _found(obj: Any, path: Iterable[str]) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj
