"""Reads what the hooks ask for: bounded in bytes and time, shared where many ask for the same, failures as values.

Pods of a namespace, nodes and LogProfiles come from snapshots that a process shares; whatever decides something
irreversible is read past them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Generic, TypeVar

import msgspec

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
from sync_hooks.measurements.page import received
from webhook.apiserver import RESOURCES, ApiError, ApiServer, Path

PAGE = 500  # objects a list request
POD_SNAPSHOT_SECONDS = 10
LOG_PROFILE_SECONDS = 30
KEPT_SECONDS = 300  # a namespace or a LogProfile that nobody asks for any more
LOG_SECONDS = 15  # a log endpoint that takes longer is unreadable for this sync
NOT_FOUND = 404
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
CRE = "cre.nvidia.com/v1alpha1"

Item = TypeVar("Item")
Value = TypeVar("Value")


class ListMetadata(msgspec.Struct):
    """Where a list goes on."""

    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, Generic[Item]):
    """One page of a list."""

    items: tuple[Item, ...] = ()
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


class Event(msgspec.Struct):
    """What an event says and when; who writes it by the newer API gives only ``eventTime``."""

    message: str = ""
    lastTimestamp: str | None = None  # noqa: N815 - the API's name
    eventTime: str | None = None  # noqa: N815 - the API's name


class ApiResource(msgspec.Struct):
    """A resource that is served."""

    kind: str = ""


class ApiResources(msgspec.Struct):
    """What is served of one group and version."""

    resources: tuple[ApiResource, ...] = ()


_KINDS = msgspec.json.Decoder(ApiResources)
_OBJECT = msgspec.json.Decoder(LiveObject)
_OBJECTS = msgspec.json.Decoder(Page[LiveObject])
_NODES = msgspec.json.Decoder(Page[Node])
_PODS = msgspec.json.Decoder(Page[Pod])
_EVENTS = msgspec.json.Decoder(Page[Event])


@dataclass(slots=True)
class Snapshots(Generic[Value]):
    """Values by key, each at most so old; one thread fetches, the others wait for it. Old ones are forgotten."""

    _values: dict[Hashable, tuple[float, Value]] = field(default_factory=dict)
    _locks: dict[Hashable, threading.Lock] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable, max_age: float, fetch: Callable[[], Value]) -> Value:
        """Return the value of a key, fetched anew where the known one is older than ``max_age`` seconds."""
        asked = monotonic()
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            known = self._values.get(key)
            if known is not None and known[0] >= asked - max_age:
                return known[1]
            began = monotonic()  # what changes during the fetch may be in it or not
            value = fetch()
            self._keep(key, began, value)
            return value

    def __len__(self) -> int:
        """Return how many values are kept."""
        return len(self._values)

    def _keep(self, key: Hashable, began: float, value: Value) -> None:
        with self._guard:
            self._values[key] = (began, value)
            for old in [key for key, (time, _) in self._values.items() if time < began - KEPT_SECONDS]:
                del self._values[old]
                self._locks.pop(old, None)  # who still waits for it fetches a second time


class Observer:
    """Answers reads from one API server; one a process, shared by its threads."""

    def __init__(self, api: ApiServer) -> None:
        """Start with empty snapshots."""
        self._api = api
        self._nodes: Snapshots[tuple[Node, ...]] = Snapshots()
        self._pods: Snapshots[dict[str, list[Pod]]] = Snapshots()
        self._profiles: Snapshots[LiveObject | None] = Snapshots()

    def read(self, read: Read) -> Any:
        """Answer one read as `sync_hooks.api.sync` says; Unreadable where it fails."""
        try:
            return self._answer(read)
        except ApiError as error:
            return Unreadable(str(error))
        except msgspec.DecodeError as error:
            return Unreadable(f"the API server's answer cannot be understood: {error}")

    def _answer(self, read: Read) -> Any:
        match read:
            case GetObject():
                return self._object(read)
            case ListObjects():
                return self._objects(read)
            case GetLogProfile(name):
                known = GetObject(CRE, "LogProfile", name)
                return self._profiles.get(name, LOG_PROFILE_SECONDS, lambda: self._object(known))
            case ListNodes(max_age):
                return self._nodes.get("", max_age, self._list_nodes)
            case ListPods():
                return self._jobset_pods(read)
            case ReadLog():
                return self._log(read)
            case ListKinds(api_version):
                return self._kinds(api_version)
            case ListEvents():
                return self._told(read)

    def _object(self, read: GetObject) -> LiveObject | None:
        resource = RESOURCES.get((read.api_version, read.kind))
        if resource is None:
            raise ApiError(0, f"{read.kind} of {read.api_version} is no kind that is ever read")
        path = Path(read.api_version, resource, read.namespace, read.name)
        try:
            return _OBJECT.decode(self._api.get(path))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def _objects(self, read: ListObjects) -> tuple[LiveObject, ...]:
        path = Path(read.api_version, RESOURCES[read.api_version, read.kind], read.namespace)
        found = self._list(path, _OBJECTS, {})
        return tuple(sorted(found, key=lambda item: (item.metadata.namespace, item.metadata.name)))

    def _list_nodes(self) -> tuple[Node, ...]:
        return tuple(sorted(self._list(Path("v1", "nodes"), _NODES, {}), key=lambda node: node.name))

    def _jobset_pods(self, read: ListPods) -> tuple[Pod, ...]:
        path = Path("v1", "pods", read.namespace)
        if read.fresh:
            selector: dict[str, str | int] = {"labelSelector": f"{JOBSET_NAME}={read.jobset}"}
            return tuple(sorted(self._list(path, _PODS, selector), key=lambda pod: pod.name))
        snapshot = self._pods.get(read.namespace, POD_SNAPSHOT_SECONDS, lambda: self._by_jobset(path))
        return tuple(snapshot.get(read.jobset, ()))

    def _by_jobset(self, path: Path) -> dict[str, list[Pod]]:
        found: dict[str, list[Pod]] = {}
        for pod in sorted(self._list(path, _PODS, {"labelSelector": JOBSET_NAME}), key=lambda pod: pod.name):
            found.setdefault(pod.labels.get(JOBSET_NAME, ""), []).append(pod)
        return found

    def _list(self, path: Path, decoder: msgspec.json.Decoder[Page[Item]], query: dict[str, str | int]) -> list[Item]:
        items: list[Item] = []
        query = {**query, "limit": PAGE}
        while True:
            page = decoder.decode(self._api.get(path, query))
            items.extend(page.items)
            if not page.metadata.continue_:
                return items
            query = {**query, "continue": page.metadata.continue_}

    def _log(self, read: ReadLog) -> Log | Unreadable:
        query: dict[str, str | int] = {
            "container": read.container,
            "timestamps": "true",
            "limitBytes": read.limit_bytes,
        }
        if read.since:
            query["sinceTime"] = read.since
        if read.tail_lines is not None:
            query["tailLines"] = read.tail_lines
        path = Path("v1", "pods", read.namespace, read.pod, "log")
        return received(self._api.get(path, query, seconds=LOG_SECONDS), read.limit_bytes)

    def _kinds(self, api_version: str) -> tuple[str, ...]:
        try:
            resources = _KINDS.decode(self._api.get(Path(api_version, ""))).resources
        except ApiError as error:
            if error.status == NOT_FOUND:
                return ()
            raise
        return tuple(sorted({resource.kind for resource in resources}))

    def _told(self, read: ListEvents) -> tuple[Told, ...]:
        about = {"uid": read.uid, "kind": read.kind, "name": read.name}
        wanted = [f"involvedObject.{key}={value}" for key, value in about.items() if value]
        query: dict[str, str | int] = {"fieldSelector": ",".join((*wanted, f"reason={read.reason}"))}
        events = self._list(Path("v1", "events", read.namespace), _EVENTS, query)
        told = (Told(event.message, event.lastTimestamp or event.eventTime or "") for event in events)
        return tuple(sorted(told, key=lambda event: event.at, reverse=True))
