"""Volumes and mounts: each volume with one source, each mount of a volume that is there, each at a place of its own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from sync_hooks.admission.causes import duplicate, forbidden, invalid, required
from sync_hooks.admission.official.shape import official_types
from sync_hooks.admission.validation.grammar import check, dns_label, dns_subdomain
from sync_hooks.admission.validation.reserved import reserved_mounts, reserved_volumes
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.quantity import parse_quantity

NAMED = {"configMap": "name", "persistentVolumeClaim": "claimName", "secret": "secretName"}
"""Sources that name an object, and the field that does."""


def volume_errors(spec: Value) -> Iterator[FieldError]:
    """Check the volumes of the pods."""
    taken, seen = reserved_volumes(spec), set[str]()
    for volume in spec.field("volumes").elements():
        name = volume.field("name")
        yield from check(name, dns_label)
        if name.text in taken:
            yield forbidden(name, f"{name.text} is the volume of {taken[name.text]}: choose another name")
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)
        yield from _source_errors(volume)


def _source_errors(volume: Value) -> Iterator[FieldError]:
    sources = sorted(name for name in volume.fields if name in official_types()["Volume"] and name != "name")
    if len(sources) > 1:
        yield invalid(volume, f"exactly one source may be given, not {' and '.join(sources)}")
    elif isinstance(volume.json, dict) and not volume.fields.keys() - {"name"}:
        yield required(volume, "a source must be given, for example emptyDir: {}")
    for source, field in NAMED.items():
        name = volume.field(source, field)
        if isinstance(volume.field(source).json, dict) and not name.present:
            yield required(name, "must be given")
        yield from check(name, dns_subdomain)
    yield from _path_and_size_errors(volume)


def _path_and_size_errors(volume: Value) -> Iterator[FieldError]:
    path, limit = volume.field("hostPath", "path"), volume.field("emptyDir", "sizeLimit")
    if ".." in path.text.split("/"):
        yield invalid(path, "must be a path without '..'")
    if (size := parse_quantity(limit.json)) is not None and size < 0:
        yield invalid(limit, "must not be negative")
    ephemeral = volume.field("ephemeral")
    if isinstance(ephemeral.json, dict) and not ephemeral.field("volumeClaimTemplate").present:
        yield required(ephemeral.field("volumeClaimTemplate"), "must be given")


def mount_errors(spec: Value) -> Iterator[FieldError]:
    """Check the mounts of the workload's containers."""
    taken, own = reserved_mounts(spec), {volume.field("name").text for volume in spec.field("volumes").elements()}
    yield from mounts_errors(spec.field("volumeMounts"), own)
    for mount in spec.field("volumeMounts").elements():
        path = mount.field("mountPath")
        place = normal(path.text)
        if place in taken:
            yield forbidden(path, f"{place} is the place of {taken[place]}: choose another path")


def mounts_errors(mounts: Value, volumes: set[str] | Mapping[str, str]) -> Iterator[FieldError]:
    """Check a list of mounts, wherever it stands, against the volumes that its pod has."""
    places: set[str] = set()
    for mount in mounts.elements():
        name, path = mount.field("name"), mount.field("mountPath")
        if name.text and name.text not in volumes:
            yield invalid(name, f"there is no such volume, only {', '.join(sorted(volumes)) or 'none at all'}")
        if path.json == "":
            yield required(path, "must not be empty")
        if path.text and (not path.text.startswith("/") or ":" in path.text):
            yield invalid(path, "must be an absolute path without ':'")
        if path.text and normal(path.text) in places:
            yield duplicate(path)
        places.add(normal(path.text))
        yield from _sub_path_errors(mount)


def _sub_path_errors(mount: Value) -> Iterator[FieldError]:
    plain, expanded = mount.field("subPath"), mount.field("subPathExpr")
    if plain.text and expanded.text:
        yield invalid(expanded, "may not be given together with subPath")
    for path in (plain, expanded):
        if path.text.startswith("/") or ".." in path.text.split("/"):
            yield invalid(path, "must be a relative path without '..'")


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
