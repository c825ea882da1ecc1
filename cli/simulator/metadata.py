"""What a write leaves in the store: the object that results from a create, an update, a status update or a deletion.

Pure: the version and the time come from the store, and the objects given are never changed.
"""

from __future__ import annotations

from cli.simulator.entry import FOREGROUND, ORPHAN, Object
from cli.simulator.kinds import Kind

SYSTEM_FIELDS = (
    "namespace",
    "name",
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Metadata that only the API server writes; what a client sends there is ignored."""

READ_ONLY = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
"""Metadata that the API server makes for a new object, and that Metacontroller leaves as it is in one it updates."""


def created(kind: Kind, obj: Object, *, uid: str, version: str, now: str) -> Object:
    """Return a new object as it is stored; a custom kind loses the status that it came with."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in READ_ONLY}
    metadata |= {"uid": uid, "resourceVersion": version, "creationTimestamp": now}
    if kind.generation:
        metadata["generation"] = 1
    body = {name: value for name, value in obj.items() if name != "metadata" and (name != "status" or not kind.custom)}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **_without_type(body)}


def updated(kind: Kind, old: Object, new: Object) -> Object:
    """Return what a PUT leaves: system fields and status of the old object, everything else of the new one."""
    metadata = {name: value for name, value in new["metadata"].items() if name not in SYSTEM_FIELDS}
    metadata.pop("managedFields", None)
    metadata |= {name: old["metadata"][name] for name in SYSTEM_FIELDS if name in old["metadata"]}
    body = {name: value for name, value in new.items() if name not in {"metadata", "status"}}
    if kind.generation and any(body.get(name) != old.get(name) for name in _spec_fields(old, body)):
        metadata["generation"] = old["metadata"]["generation"] + 1
    status = {"status": old["status"]} if "status" in old else {}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **_without_type(body), **status}


def status_replaced(old: Object, new: Object) -> Object:
    """Return what a PUT of the status subresource leaves: the old object with the new status."""
    result = {name: value for name, value in old.items() if name != "status"}
    return {**result, "status": new["status"]} if "status" in new else result


def deletion_finalizers(old: tuple[str, ...], propagation: str | None) -> list[str]:
    """Return what a DELETE leaves: Foreground and Orphan add the collector's own finalizer, Background drops both."""
    if propagation is None:
        return list(old)
    wanted = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(propagation, [])
    return [name for name in old if name not in (FOREGROUND, ORPHAN)] + wanted


def marked_deleted(old: Object, finalizers: list[str], now: str, grace_seconds: int) -> Object:
    """Return an object that was asked to go but is still held; the first mark stays and counts as a generation."""
    metadata = {name: value for name, value in old["metadata"].items() if name != "finalizers"}
    if finalizers:
        metadata["finalizers"] = finalizers
    if "deletionTimestamp" not in metadata:
        metadata |= {"deletionTimestamp": now, "deletionGracePeriodSeconds": grace_seconds}
        if "generation" in metadata:
            metadata["generation"] += 1
    return {**old, "metadata": metadata}


def merged(target: Object, patch: Object) -> Object:
    """Apply a JSON merge patch (RFC 7386): maps merge, null removes, everything else replaces."""
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = merged(result[name], value)
        else:
            result[name] = value
    return result


def _spec_fields(old: Object, new: Object) -> list[str]:
    ignored = {"apiVersion", "kind", "metadata", "status"}
    return sorted({*old, *new} - ignored)


def _without_type(body: Object) -> Object:
    return {name: value for name, value in body.items() if name not in {"apiVersion", "kind"}}
