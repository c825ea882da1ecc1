"""Volumes and mounts: each volume with one source, each mount of a volume that is there, each at a place of its own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid
from sync_hooks.admission.validation.reserved import reserved_volumes
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError


def volume_errors(spec: Value) -> Iterator[FieldError]:
    """Check the volumes of the pods."""
    taken, seen = reserved_volumes(spec), set[str]()
    for volume in spec.field("volumes").elements():
        name = volume.field("name")
        if name.text in taken:
            yield forbidden(name, f"{name.text} is the volume of {taken[name.text]}: choose another name")
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)


def mounts_errors(mounts: Value, volumes: set[str]) -> Iterator[FieldError]:
    """Check a list of mounts, wherever it stands, against the volumes that its pod has."""
    places: set[str] = set()
    for mount in mounts.elements():
        name, path = mount.field("name"), mount.field("mountPath")
        if name.text and name.text not in volumes:
            yield missing(name, volumes)
        if path.text and normal(path.text) in places:
            yield duplicate(path)
        places.add(normal(path.text))


def missing(name: Value, volumes: set[str]) -> FieldError:
    """Say that a volume is named which no pod has."""
    return invalid(name, f"there is no such volume, only {', '.join(sorted(volumes))}")


def normal(path: str) -> str:
    """Write a path without doubled and trailing slashes, so that two ways to write one place are one."""
    return posixpath.normpath("/" + path.lstrip("/")) if path else ""


def volume_advice(spec: Value) -> Iterator[str]:
    """Point at volumes that nothing mounts."""
    lists = [spec.field("volumeMounts"), *(c.field("volumeMounts") for c in spec.field("initContainers").elements())]
    mounted = {mount.field("name").text for mounts in lists for mount in mounts.elements()}
    for volume in spec.field("volumes").elements():
        if (name := volume.field("name").text) and name not in mounted:
            yield f"{volume}: {name} is mounted nowhere"
