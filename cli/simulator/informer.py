"""Informers: the driver's own copy of what is stored, fed by watch events that arrive late and perhaps out of order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from cli.simulator.api import Handler
from cli.simulator.clock import Clock
from cli.simulator.entry import Change, Entry
from cli.simulator.faults import Dice
from cli.simulator.kinds import Kind
from cli.simulator.store import Store
from sync_hooks.api.names import LABEL_CONTROLLER

WATCH_SECONDS = 0.02  # from a write until the informer of another process knows
LONGEST_LAG_SECONDS = 60.0  # of one API server behind another
CONTROLLER_UID = LABEL_CONTROLLER  # the label that generateSelector puts on children


class Informer:
    """The cache of one kind."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}
        self._controlled: dict[str, dict[tuple[str, str], Entry]] = {}
        self._orphans: dict[str, dict[tuple[str, str], Entry]] = {}
        self._handlers: list[Handler] = []

    def find(self, namespace: str, name: str) -> Entry | None:
        """Return an object as the cache knows it."""
        return self._entries.get((namespace, name))

    def entries(self) -> Iterable[Entry]:
        """Every object the cache knows."""
        return self._entries.values()

    def controlled(self, uid: str) -> Iterable[Entry]:
        """Objects whose controlling owner has this UID."""
        return self._controlled.get(uid, {}).values()

    def orphans(self, uid: str) -> Iterable[Entry]:
        """Objects that nobody controls and whose label ``controller-uid`` has this value."""
        return self._orphans.get(uid, {}).values()

    def subscribe(self, handler: Handler) -> None:
        """Tell what is there already as new, and every change from now on."""
        self._handlers.append(handler)
        for entry in list(self._entries.values()):
            handler(Change("ADDED", entry))

    def receive(self, change: Change) -> None:
        """Take one watch event into the cache and tell it, with the version that the cache had before."""
        old = self._entries.get(change.entry.key)
        if old is not None:
            self._forget(old)
        if change.type == "DELETED":
            told = Change("DELETED", change.entry, old)
        else:
            self._remember(change.entry)
            told = Change("ADDED" if old is None else "MODIFIED", change.entry, old)
        self._tell(told)

    def repeat(self, change: Change) -> None:
        """Tell an event again, as after a watch that broke: the same version, read anew."""
        if change.type != "DELETED":
            entry = Entry(change.entry.kind, change.entry.obj)
            self.receive(Change("MODIFIED", entry, change.entry))

    def load(self, entries: Iterable[Entry]) -> None:
        """Fill an empty cache from a list and tell every object as new."""
        for entry in entries:
            self.receive(Change("ADDED", entry))

    def undo(self, change: Change) -> None:
        """Take the last event of an object back, and tell nobody."""
        known = self._entries.get(change.entry.key)
        if known is not None:
            self._forget(known)
        if change.type != "ADDED":
            self._remember(change.old or change.entry)

    def replay(self) -> None:
        """Tell every cached object as new, as a process does that has just started."""
        for entry in list(self._entries.values()):
            self._tell(Change("ADDED", entry))

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            handler(change)

    def _remember(self, entry: Entry) -> None:
        self._entries[entry.key] = entry
        index, value = self._index_of(entry)
        if value is not None:
            index.setdefault(value, {})[entry.key] = entry

    def _forget(self, entry: Entry) -> None:
        del self._entries[entry.key]
        index, value = self._index_of(entry)
        if value is None:
            return
        siblings = index[value]
        del siblings[entry.key]
        if not siblings:
            del index[value]

    def _index_of(self, entry: Entry) -> tuple[dict[str, dict[tuple[str, str], Entry]], str | None]:
        if entry.controller is not None:
            return self._controlled, entry.controller
        return self._orphans, entry.labels.get(CONTROLLER_UID)


class SharedInformers:
    """All informers of one process. Events of kinds that nobody asked for are never kept."""

    def __init__(self, store: Store, clock: Clock, dice: Dice | None = None, *, latency: float = WATCH_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._dice = dice or Dice()
        self._latency = latency
        self._informers: dict[Kind, Informer] = {}
        self._queue: deque[tuple[float, Change]] = deque()
        self._told: dict[Kind, deque[tuple[float, Change]]] = {}
        self._wake: float | None = None
        store.watch(self._on_change)

    def of(self, kind: Kind) -> Informer:
        """Return the informer of a kind; the first call lists what is stored."""
        informer = self._informers.get(kind)
        if informer is None:
            informer = self._informers[kind] = Informer()
            informer.load(self._store.select(kind.api_version, kind.kind))
        return informer

    def restart(self) -> None:
        """Tell everything anew from what the caches have: a process that starts may list a state that is behind.

        It may even be behind what the process before it had seen, where another API server answers.
        """
        self._relapse()
        for informer in self._informers.values():
            informer.replay()

    def _relapse(self) -> None:
        """Take the last events of every other kind, as they are drawn, back for a while, if they are not old."""
        until = self._clock.time + self._dice.faults.stale_seconds - self._latency
        kinds = sorted(self._told, key=lambda kind: kind.kind) if self._dice.faults.relapse else ()
        for kind in [kind for kind in kinds if self._dice.hits(0.5)]:
            told = self._told[kind]
            while told and told[-1][0] > self._clock.time - LONGEST_LAG_SECONDS:
                _, change = told.pop()
                self._informers[kind].undo(change)
                self._queue.appendleft((until, change))
        self._plan()

    def _on_change(self, change: Change) -> None:
        if change.entry.kind in self._informers:
            self._queue.append((self._clock.time, change))
            self._plan()

    def _plan(self) -> None:
        if self._wake is not None or not self._queue:
            return
        held = self._dice.faults.stale_events
        lag = self._latency if len(self._queue) > held else max(self._latency, self._dice.faults.stale_seconds)
        self._wake = max(self._clock.time, self._queue[0][0] + lag)
        self._clock.schedule(self._wake - self._clock.time, self._deliver)

    def _deliver(self) -> None:
        self._wake = None
        for change in self._ordered(self._due()):
            kind = change.entry.kind
            informer = self._informers[kind]
            informer.receive(change)
            told = self._told.setdefault(kind, deque(maxlen=self._dice.faults.relapse))
            told.append((self._clock.time, change))
            if self._dice.hits(self._dice.faults.repeat):
                informer.repeat(change)
        self._plan()

    def _due(self) -> list[Change]:
        faults = self._dice.faults
        due: list[Change] = []
        while self._queue:
            age = self._clock.time - self._queue[0][0] + 1e-9
            overdue = age >= max(self._latency, faults.stale_seconds)
            if age < self._latency or (len(self._queue) <= faults.stale_events and not overdue):
                break
            due.append(self._queue.popleft()[1])
        return due

    def _ordered(self, changes: list[Change]) -> list[Change]:
        if not self._dice.faults.reorder or len(changes) < 2:
            return changes
        streams: dict[Kind, deque[Change]] = {}
        for change in changes:
            streams.setdefault(change.entry.kind, deque()).append(change)
        drawn = self._dice.shuffled([change.entry.kind for change in changes])
        return [streams[kind].popleft() for kind in drawn]
