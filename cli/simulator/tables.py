"""The objects of one kind, with indexes by owner and by the labels that somebody asked for. Knows no rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cli.simulator.entry import Entry

Rows = dict[tuple[str, str], Entry]
"""Entries by namespace and name."""


class Table:
    """Rows of one kind. An index on a label key is built the first time a list asks for that key."""

    def __init__(self) -> None:
        self.rows: Rows = {}
        self._labels: dict[str, dict[str, Rows]] = {}

    def put(self, entry: Entry, old: Entry | None) -> None:
        """Store a version in place of the old one."""
        self.rows[entry.key] = entry
        for key, index in self._labels.items():
            value = entry.labels.get(key)
            if old is not None and (before := old.labels.get(key)) is not None and before != value:
                _drop(index, before, old)
            if value is not None:
                index.setdefault(value, {})[entry.key] = entry

    def remove(self, entry: Entry) -> None:
        """Take an object out."""
        del self.rows[entry.key]
        for key, index in self._labels.items():
            if (value := entry.labels.get(key)) is not None:
                _drop(index, value, entry)

    def select(self, namespace: str | None, labels: Mapping[str, str]) -> list[Entry]:
        """List objects by namespace (None: all) and equal labels, sorted by namespace and name."""
        if not labels:
            candidates: Iterable[Entry] = self.rows.values()
        else:
            key, value = next(iter(labels.items()))
            candidates = self._index(key).get(value, {}).values()
        found = [
            entry
            for entry in candidates
            if (namespace is None or entry.namespace == namespace) and labels.items() <= entry.labels.items()
        ]
        found.sort(key=_sort_key)
        return found

    def _index(self, key: str) -> dict[str, Rows]:
        index = self._labels.get(key)
        if index is None:
            index = self._labels[key] = {}
            for entry in self.rows.values():
                if (value := entry.labels.get(key)) is not None:
                    index.setdefault(value, {})[entry.key] = entry
        return index


def _sort_key(entry: Entry) -> tuple[str, str]:
    return (entry.namespace, entry.name)


def _drop(index: dict[str, Rows], value: str, entry: Entry) -> None:
    rows = index[value]
    del rows[entry.key]
    if not rows:
        del index[value]


class Owners:
    """Every object by its UID, and the dependents of each UID, across kinds."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._dependents: dict[str, dict[str, Entry]] = {}

    def put(self, entry: Entry, old: Entry | None) -> None:
        """Store a version in place of the old one."""
        self.entries[entry.uid] = entry
        if old is not None and old.owners != entry.owners:
            self._forget(old)
        for owner in entry.owners:
            self._dependents.setdefault(owner, {})[entry.uid] = entry

    def remove(self, entry: Entry) -> None:
        """Take an object out; what it owned stays listed under its UID, as dangling dependents."""
        del self.entries[entry.uid]
        self._forget(entry)

    def dependents(self, uid: str) -> list[Entry]:
        """Objects that name this UID as an owner, in the order in which they came."""
        return list(self._dependents.get(uid, {}).values())

    def _forget(self, entry: Entry) -> None:
        for owner in entry.owners:
            dependents = self._dependents.get(owner)
            if dependents is not None and dependents.pop(entry.uid, None) is not None and not dependents:
                del self._dependents[owner]
