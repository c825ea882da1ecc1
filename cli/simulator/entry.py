"""One version of one stored object, and what a watch says about it. Nothing here is ever changed in place."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from cli.simulator.kinds import Kind

Object = dict[str, Any]
"""A Kubernetes object as JSON. Immutable by agreement: writers build a new one and share what did not change."""

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

encode = msgspec.json.Encoder().encode
encode_sorted = msgspec.json.Encoder(order="sorted").encode


class Entry:
    """An object at one resourceVersion, with the parts that indexes and controllers ask for again and again.

    ``json`` is computed once a version: a parent of 2,500 children is sent to its hook on every change of one of them.
    """

    __slots__ = (
        "_fragment",
        "_json",
        "controller",
        "deleting",
        "kind",
        "labels",
        "metadata",
        "name",
        "namespace",
        "obj",
        "owners",
        "qualified_name",
        "uid",
        "version",
    )

    def __init__(self, kind: Kind, obj: Object, json: bytes | None = None) -> None:
        metadata: Object = obj["metadata"]
        self.kind = kind
        self.obj = obj
        self.metadata = metadata
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.qualified_name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        self.deleting = "deletionTimestamp" in metadata  # waits for its finalizers or for its containers
        self.uid: str = metadata["uid"]
        self.version = int(metadata["resourceVersion"])
        self.labels: dict[str, str] = metadata.get("labels") or {}
        references = metadata.get("ownerReferences") or ()
        self.owners: tuple[str, ...] = tuple(reference["uid"] for reference in references)
        self.controller: str | None = next((ref["uid"] for ref in references if ref.get("controller")), None)
        self._json = json
        self._fragment: bytes | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return (self.namespace, self.name)

    @property
    def finalizers(self) -> tuple[str, ...]:
        """Who must still agree to the deletion."""
        return tuple(self.metadata.get("finalizers") or ())

    @property
    def json(self) -> bytes:
        """The object as JSON."""
        if self._json is None:
            self._json = encode(self.obj)
        return self._json

    @property
    def fragment(self) -> bytes:
        """The object as a member of a JSON map keyed as hooks of version v2 see it: ``"namespace/name":{...}``."""
        if self._fragment is None:
            self._fragment = encode(self.qualified_name) + b":" + self.json
        return self._fragment


class Change(NamedTuple):
    """One watch event; ``old`` is the version before, None for an object that is new."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    entry: Entry
    old: Entry | None = None

    @property
    def keeps_spec(self) -> bool:
        """Whether an object that stays was changed in its status or metadata only."""
        if self.old is None or self.type != "MODIFIED" or self.entry.deleting:
            return False
        return bool(self.old.metadata.get("generation") == self.entry.metadata.get("generation"))


def controller_reference(obj: Object) -> Object | None:
    """Return the owner reference of the controlling owner, None where nobody controls the object."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def owned_by(owner: Entry) -> Object:
    """Write the owner reference of a controlling owner that waits for its dependents."""
    return {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_metadata(obj: Object, **fields: Any) -> Object:
    """Return the object with some of its metadata replaced; a field given as None is removed."""
    metadata = {**obj["metadata"], **fields}
    return {**obj, "metadata": {name: value for name, value in metadata.items() if value is not None}}
