"""The garbage collector: deletes what nobody owns any more; a foreground deletion waits until the dependents are gone.

It looks at live objects, some time after the change that made it look: in between, dependents of what was deleted still
stand, which is what a controller that goes by names trips over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cli.simulator.clock import Clock
from cli.simulator.entry import FOREGROUND, ORPHAN, Change, Entry, Object, with_metadata
from cli.simulator.errors import ApiError, NotFound
from cli.simulator.store import Propagation, Store

ACTOR = "garbage-collector"
COLLECT_SECONDS = 1.0  # a cluster that is not busy needs about this long
RETRY_SECONDS = 5.0


@dataclass(slots=True)
class Owners:
    """Owner references of one object, by what became of the owners."""

    solid: list[str] = field(default_factory=list)
    dangling: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Owners in foreground deletion, which wait for their dependents."""


class GarbageCollector:
    """Watches the store and acts ``delay`` seconds later."""

    def __init__(self, store: Store, clock: Clock, *, delay: float = COLLECT_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._delay = delay
        self._pending: set[str] = set()
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        entry = change.entry
        if change.type == "DELETED":
            for dependent in self._store.dependents(entry.uid):
                self._look(dependent.uid)
        elif self._has_new_owners(change) and self._classify(entry).dangling:
            self._look(entry.uid)
        if change.type != "ADDED" and entry.deleting and {FOREGROUND, ORPHAN} & set(entry.finalizers):
            self._look(entry.uid)
        for uid in change.old.owners if change.old is not None else ():
            if (owner := self._store.by_uid(uid)) is not None and FOREGROUND in owner.finalizers:
                self._look(uid)

    @staticmethod
    def _has_new_owners(change: Change) -> bool:
        return bool(set(change.entry.owners) - set(change.old.owners if change.old is not None else ()))

    def _look(self, uid: str, delay: float | None = None) -> None:
        if uid not in self._pending:
            self._pending.add(uid)
            self._clock.schedule(self._delay if delay is None else delay, lambda: self._attempt(uid))

    def _attempt(self, uid: str) -> None:
        self._pending.discard(uid)
        entry = self._store.by_uid(uid)
        if entry is None:
            return
        try:
            self._collect(entry)
        except NotFound:
            return
        except ApiError:  # refused or outdated: as the real one, look again
            self._look(uid, RETRY_SECONDS)

    def _collect(self, entry: Entry) -> None:
        if entry.deleting:
            if ORPHAN in entry.finalizers:
                self._orphan(entry)
            elif FOREGROUND in entry.finalizers:
                self._release_when_alone(entry)
            return
        owners = self._classify(entry)
        if owners.solid:
            if gone := {*owners.dangling, *owners.waiting}:
                self._drop_references(entry, gone)
        elif entry.owners:
            self._delete(entry, owners)

    def _classify(self, entry: Entry) -> Owners:
        owners = Owners()
        for reference in _references(entry):
            uid, owner = reference["uid"], self._store.by_uid(reference["uid"])
            kind = self._store.discovery.of_kind(reference["apiVersion"], reference["kind"])
            if not entry.namespace and kind is not None and kind.namespaced:
                owners.solid.append(uid)  # cannot be resolved from a cluster-scoped object, so it is never collected
            elif owner is None or owner.namespace not in ("", entry.namespace):
                owners.dangling.append(uid)  # an owner in another namespace counts as absent
            elif owner.deleting and FOREGROUND in owner.finalizers:
                owners.waiting.append(uid)
            else:
                owners.solid.append(uid)
        return owners

    def _delete(self, entry: Entry, owners: Owners) -> None:
        has_dependents = bool(self._store.dependents(entry.uid))
        propagation: Propagation = "Background"
        if owners.waiting and has_dependents:
            propagation = "Foreground"
        elif ORPHAN in entry.finalizers:
            propagation = "Orphan"
        elif FOREGROUND in entry.finalizers:
            propagation = "Foreground"
        self._store.delete(entry, propagation=propagation, actor=ACTOR)

    def _release_when_alone(self, entry: Entry) -> None:
        blocking = [dependent for dependent in self._store.dependents(entry.uid) if _blocks(dependent, entry.uid)]
        if not blocking:
            self._remove_finalizer(entry, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting:
                self._look(dependent.uid)

    def _orphan(self, entry: Entry) -> None:
        for dependent in self._store.dependents(entry.uid):
            self._drop_references(dependent, {entry.uid})
        self._remove_finalizer(entry, ORPHAN)

    def _drop_references(self, entry: Entry, uids: set[str]) -> None:
        kept = [reference for reference in _references(entry) if reference["uid"] not in uids]
        self._store.update(with_metadata(entry.obj, ownerReferences=kept or None), actor=ACTOR)

    def _remove_finalizer(self, entry: Entry, name: str) -> None:
        kept = [finalizer for finalizer in entry.finalizers if finalizer != name]
        self._store.update(with_metadata(entry.obj, finalizers=kept or None), actor=ACTOR)


def _references(entry: Entry) -> list[Object]:
    references: list[Object] = entry.metadata.get("ownerReferences") or []
    return references


def _blocks(dependent: Entry, uid: str) -> bool:
    return any(reference["uid"] == uid and reference.get("blockOwnerDeletion") for reference in _references(dependent))
