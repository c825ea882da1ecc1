"""What hooks read of the cluster, answered by the store: live objects, snapshots of nodes and pods, logs, error events.

Snapshots are as old as they may be: what a hook sees of pods and nodes lags as it does behind a shared snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from cli.simulator import logs
from cli.simulator.clock import Clock
from cli.simulator.director import Director
from cli.simulator.entry import Change, Entry
from cli.simulator.faults import Dice
from cli.simulator.kinds import CORE, CRE
from cli.simulator.store import Store
from sync_hooks.api.observed import LiveObject, Log, Node, Pod, Told
from sync_hooks.api.sync import (
    GetLogProfile,
    GetObject,
    ListEvents,
    ListKinds,
    ListNodes,
    ListObjects,
    ListPods,
    Read,
    ReadLog,
    Unreadable,
)

POD_SNAPSHOT_SECONDS = 10.0
PROFILE_SECONDS = 30.0
LABEL_JOB_SET = "jobset.sigs.k8s.io/jobset-name"


class Reader:
    """Reads for hooks; ``reads`` counts them by type, ``log_bytes`` what logs brought."""

    def __init__(self, store: Store, clock: Clock, director: Director, dice: Dice | None = None) -> None:
        self.reads: Counter[str] = Counter()
        self.log_bytes = 0
        self._store = store
        self._clock = clock
        self._director = director
        self._dice = dice or Dice()
        self._snapshots: dict[Read, tuple[float, Any]] = {}
        self._converted: dict[str, tuple[int, Pod | Node]] = {}
        store.watch(self._on_change, "Pod", "Node", "JobSet")

    def _on_change(self, change: Change) -> None:
        """Forget what is kept about something that is gone."""
        if change.type == "DELETED":
            self._converted.pop(change.entry.uid, None)
            if change.entry.kind.kind == "JobSet":
                self._snapshots.pop(ListPods(*change.entry.key), None)

    def read(self, read: Read) -> Any:
        """Answer one read with the structs of `sync_hooks.api.observed`, or Unreadable."""
        name = type(read).__name__
        self.reads[name] += 1
        if name in self._dice.faults.unreadable or self._dice.hits(self._dice.faults.read_error):
            return Unreadable(f"{name}: injected failure")
        match read:
            case GetObject():
                return self._object(self._store.find(read.api_version, read.kind, read.namespace, read.name))
            case ListObjects():
                found = self._store.select(read.api_version, read.kind, read.namespace or None)
                return tuple(self._object(entry) for entry in found)
            case GetLogProfile():
                return self._kept(read, PROFILE_SECONDS, lambda: self._profile(read.name))
            case ListNodes():
                return self._kept(ListNodes(0), read.max_age, self._nodes)
            case ListPods():
                shared = ListPods(read.namespace, read.jobset)
                return self._kept(shared, 0 if read.fresh else POD_SNAPSHOT_SECONDS, lambda: self._pods(read))
            case ReadLog():
                return self._log(read)
            case ListKinds(api_version):
                return tuple(kind.kind for kind in self._store.discovery.kinds if kind.api_version == api_version)
            case ListEvents():
                return self._events(read)

    def _kept(self, key: Read, max_age: float, make: Callable[[], Any]) -> Any:
        """Return a snapshot that is young enough, or make another."""
        now = self._clock.time
        known = self._snapshots.get(key)
        if known is not None and now - known[0] < max_age:
            return known[1]
        value = make()
        self._snapshots[key] = (now, value)
        return value

    def _object(self, entry: Entry | None) -> LiveObject | None:
        return None if entry is None else msgspec.convert(entry.obj, LiveObject)

    def _profile(self, name: str) -> LiveObject | None:
        return self._object(self._store.find(CRE, "LogProfile", "", name))

    def _nodes(self) -> tuple[Node, ...]:
        return tuple(self._convert(entry, Node) for entry in self._store.select(CORE, "Node"))

    def _pods(self, read: ListPods) -> tuple[Pod, ...]:
        entries = self._store.select(CORE, "Pod", read.namespace, {LABEL_JOB_SET: read.jobset})
        return tuple(self._convert(entry, Pod) for entry in entries)

    def _convert(self, entry: Entry, type_: type[Any]) -> Any:
        known = self._converted.get(entry.uid)
        if known is not None and known[0] == entry.version:
            return known[1]
        value = msgspec.convert(entry.obj, type_)
        self._converted[entry.uid] = (entry.version, value)
        return value

    def _log(self, read: ReadLog) -> Log | Unreadable:
        pod = self._store.find(CORE, "Pod", read.namespace, read.pod)
        if pod is None:
            return Unreadable(f'pods "{read.pod}" not found')
        spec = pod.obj["spec"]
        names = [item["name"] for item in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))]
        container = read.container or names[0]
        if container not in names:
            return Unreadable(f"container {container} is not valid for pod {read.pod}")
        output = self._director.output(pod, container)
        if output is None:
            return Unreadable(f'container "{container}" in pod "{read.pod}" is waiting to start: ContainerCreating')
        content, truncated = logs.read(
            output, self._clock.now(), since=read.since, tail_lines=read.tail_lines, limit_bytes=read.limit_bytes
        )
        self.log_bytes += len(content)
        return Log(content, truncated)

    def _events(self, read: ListEvents) -> tuple[Told, ...]:
        about = {"uid": read.uid, "kind": read.kind, "name": read.name}
        wanted = {key: value for key, value in about.items() if value}.items()
        events = [
            entry
            for entry in self._store.select(CORE, "Event", read.namespace)
            if entry.obj.get("reason") == read.reason and wanted <= entry.obj["involvedObject"].items()
        ]
        events.sort(key=lambda entry: (entry.obj["lastTimestamp"], entry.version), reverse=True)
        return tuple(Told(entry.obj["message"], entry.obj["lastTimestamp"]) for entry in events)
