"""The API server in memory: optimistic concurrency, finalizers, status subresources, admission, watches.

Objects are values that are never changed: a read hands out the stored one, a write puts another in its place.
Dependents are collected by `garbage`, not here.
"""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Callable, Mapping
from typing import Literal

from cli.simulator import metadata, rules
from cli.simulator.entry import Change, Entry, Object
from cli.simulator.errors import AlreadyExists, Conflict, NotFound
from cli.simulator.kinds import Discovery, Kind
from cli.simulator.tables import Owners, Table
from cli.simulator.tally import Tally

Admission = Callable[[Literal["CREATE", "UPDATE"], Object, Entry | None], Object]
"""A webhook: operation, the object sent, the stored one; returns the object to store or raises `errors.ApiError`."""

Propagation = Literal["Background", "Foreground", "Orphan"]
Watcher = Callable[[Change], None]

SUFFIX_ALPHABET = "".join(c for c in string.ascii_lowercase + string.digits if c not in "aeiou013l")
SUFFIX_LENGTH = 5  # as the API server makes names of generateName
POD_GRACE_SECONDS = 30


class Store:
    """All objects of a cluster. Watchers are called at once and must only take note: they may not write."""

    def __init__(self, stamp: Callable[[], str], discovery: Discovery | None = None, *, seed: int = 0) -> None:
        self.discovery = discovery or Discovery()
        self.tally = Tally()
        self._stamp = stamp
        self._random = random.Random(seed)  # noqa: S311 - names and UIDs that a seed repeats, no secrets
        self._version = 0
        self._tables = {(kind.api_version, kind.kind): Table() for kind in self.discovery.kinds}
        self._owners = Owners()
        self._watchers: dict[tuple[str, str], list[Watcher]] = {key: [] for key in self._tables}
        self._admission: dict[tuple[str, str], list[Admission]] = {}

    # Reading

    @property
    def version(self) -> int:
        """The resourceVersion of the last change."""
        return self._version

    def kind(self, api_version: str, kind: str) -> Kind:
        """Return a served kind; raises NotFound for one whose CRD is not installed."""
        found = self.discovery.of_kind(api_version, kind)
        if found is None:
            raise NotFound("the server could not find the requested resource")
        return found

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> Entry | None:
        """Return an object, None where there is none or where the kind is not served."""
        table = self._tables.get((api_version, kind))
        return None if table is None else table.rows.get((namespace, name))

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Entry:
        """Return an object; raises NotFound."""
        served = self.kind(api_version, kind)
        entry = self.find(api_version, kind, namespace, name)
        if entry is None:
            raise NotFound(f'{served.group_resource} "{name}" not found')
        return entry

    def select(
        self, api_version: str, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> list[Entry]:
        """List objects of a kind by namespace and equal labels, sorted by namespace and name; empty if not served."""
        table = self._tables.get((api_version, kind))
        return [] if table is None else table.select(namespace, labels or {})

    def all(self) -> list[Entry]:
        """List every object, sorted by apiVersion, kind, namespace and name."""
        return [entry for key in sorted(self._tables) for entry in self._tables[key].select(None, {})]

    def by_uid(self, uid: str) -> Entry | None:
        """Return the object with this UID, None when it is gone."""
        return self._owners.entries.get(uid)

    def dependents(self, uid: str) -> list[Entry]:
        """List the objects that name this UID as an owner."""
        return self._owners.dependents(uid)

    # Watching and admission

    def watch(self, watcher: Watcher, *kinds: str) -> None:
        """Tell every change from now on, in order; with ``kinds`` only those of kinds of these names, in any group."""
        for (_, kind), watchers in self._watchers.items():
            if not kinds or kind in kinds:
                watchers.append(watcher)

    def admit(self, api_version: str, kind: str, admission: Admission) -> None:
        """Install a webhook for creates and updates (not status) of one kind; later ones see what earlier ones made."""
        self._admission.setdefault((api_version, kind), []).append(admission)

    # Writing

    def create(self, obj: Object, *, actor: str = "") -> Entry:
        """Store a new object; raises AlreadyExists, Invalid, Forbidden or NotFound (kind not served)."""
        kind = self.kind(obj.get("apiVersion", ""), obj.get("kind", ""))
        return self._insert(kind, self._admitted("CREATE", kind, self._named(kind, obj), None), actor)

    def seed(self, obj: Object) -> Entry:
        """Store an object with the status that it has, past admission: the cluster as it was found."""
        kind = self.kind(obj["apiVersion"], obj["kind"])
        entry = self._insert(kind, {name: value for name, value in obj.items() if name != "status"}, "")
        return self.update_status({**entry.obj, "status": obj["status"]}) if "status" in obj else entry

    def update(self, obj: Object, *, actor: str = "") -> Entry:
        """Replace an object but its status; raises Conflict when the resourceVersion given is not the stored one."""
        kind, old = self._stored(obj)
        new = metadata.updated(kind, old.obj, self._admitted("UPDATE", kind, obj, old))
        rules.check(kind, new)
        if old.deleting and not new["metadata"].get("finalizers") and not _grace_seconds(old):
            self.tally.count(actor, "update", kind)
            return self._remove(old)
        return self._replace(old, new, actor, "update")

    def update_status(self, obj: Object, *, actor: str = "") -> Entry:
        """Replace the status of an object and nothing else; raises Conflict as `update` does."""
        _, old = self._stored(obj)
        return self._replace(old, metadata.status_replaced(old.obj, obj), actor, "update_status")

    def patch(self, entry: Entry, patch: Object, *, actor: str = "") -> Entry:
        """Apply a JSON merge patch to what is stored under the entry's name now; raises NotFound."""
        live = self.get(entry.kind.api_version, entry.kind.kind, entry.namespace, entry.name)
        return self.update(metadata.merged(live.obj, patch), actor=actor)

    def delete(
        self, entry: Entry, *, propagation: Propagation | None = "Background", actor: str = "", at_once: bool = False
    ) -> None:
        """Delete the object with the entry's UID; raises NotFound, or Conflict when the name has another UID.

        It stays, marked, while it has finalizers; a pod that has a node stays until its kubelet deletes it ``at_once``.
        """
        live = self.get(entry.kind.api_version, entry.kind.kind, entry.namespace, entry.name)
        if live.uid != entry.uid:
            raise Conflict(
                f'Operation cannot be fulfilled on {entry.kind.group_resource} "{entry.name}": '
                f"Precondition failed: UID in precondition: {entry.uid}, UID in object meta: {live.uid}"
            )
        self.tally.count(actor, "delete", entry.kind)
        finalizers = metadata.deletion_finalizers(live.finalizers, propagation)
        grace = 0 if at_once else _grace_seconds(live)
        if not finalizers and not grace:
            self._remove(live)
            return
        marked = metadata.marked_deleted(live.obj, finalizers, self._stamp(), grace)
        self._replace(live, marked, actor, "")

    def suffix(self) -> str:
        """Make the random end of a generated name."""
        return "".join(self._random.choices(SUFFIX_ALPHABET, k=SUFFIX_LENGTH))

    def _named(self, kind: Kind, obj: Object) -> Object:
        fields = obj.get("metadata") or {}
        if not fields.get("name") and fields.get("generateName"):
            fields = {**fields, "name": fields["generateName"] + self.suffix()}
        if not kind.namespaced and "namespace" in fields:
            fields = {name: value for name, value in fields.items() if name != "namespace"}
        return {**obj, "metadata": fields}

    def _admitted(self, operation: Literal["CREATE", "UPDATE"], kind: Kind, obj: Object, old: Entry | None) -> Object:
        for admission in self._admission.get((kind.api_version, kind.kind), ()):
            obj = admission(operation, obj, old)
        return obj

    def _insert(self, kind: Kind, obj: Object, actor: str) -> Entry:
        rules.check(kind, obj)
        name = obj["metadata"]["name"]
        key = (obj["metadata"].get("namespace", ""), name)
        if key in self._tables[kind.api_version, kind.kind].rows:
            raise AlreadyExists(f'{kind.group_resource} "{name}" already exists')
        uid = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        now = self._stamp()
        made = metadata.created(kind, obj, uid=uid, version=str(self._version + 1), now=now)
        entry = Entry(kind, *rules.stored_form(kind, made))
        self._put(entry, None)
        self.tally.count(actor, "create", kind, len(entry.json))
        return entry

    def _stored(self, obj: Object) -> tuple[Kind, Entry]:
        kind = self.kind(obj.get("apiVersion", ""), obj.get("kind", ""))
        sent = obj["metadata"]
        old = self.get(kind.api_version, kind.kind, sent.get("namespace", ""), sent["name"])
        if sent.get("uid", old.uid) != old.uid or int(sent.get("resourceVersion") or old.version) != old.version:
            raise Conflict(
                f'Operation cannot be fulfilled on {kind.group_resource} "{old.name}": the object has been '
                "modified; please apply your changes to the latest version and try again"
            )
        return kind, old

    def _replace(self, old: Entry, new: Object, actor: str, verb: str) -> Entry:
        entry = old
        if new != old.obj:
            fields = {**new["metadata"], "resourceVersion": str(self._version + 1)}
            entry = Entry(old.kind, *rules.stored_form(old.kind, {**new, "metadata": fields}))
            self._put(entry, old)
        if verb:
            self.tally.count(actor, verb, old.kind, len(entry.json))
        return entry

    def _put(self, entry: Entry, old: Entry | None) -> None:
        self._version = entry.version
        self._tables[entry.kind.api_version, entry.kind.kind].put(entry, old)
        self._owners.put(entry, old)
        self._tell(Change("ADDED" if old is None else "MODIFIED", entry, old))

    def _remove(self, old: Entry) -> Entry:
        self._version += 1
        fields = {**old.metadata, "resourceVersion": str(self._version)}
        fields.pop("finalizers", None)
        self._tables[old.kind.api_version, old.kind.kind].remove(old)
        self._owners.remove(old)
        entry = Entry(old.kind, {**old.obj, "metadata": fields})
        self._tell(Change("DELETED", entry, old))
        return entry

    def _tell(self, change: Change) -> None:
        for watcher in self._watchers[change.entry.kind.api_version, change.entry.kind.kind]:
            watcher(change)


def _grace_seconds(entry: Entry) -> int:
    """Containers that run are given time to end; everything else goes at once."""
    if entry.kind.kind != "Pod" or not entry.obj.get("spec", {}).get("nodeName"):
        return 0
    if entry.obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = entry.obj["spec"].get("terminationGracePeriodSeconds", POD_GRACE_SECONDS)
    return grace
