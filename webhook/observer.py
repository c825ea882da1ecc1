"""Reads what the hooks ask for: bounded in bytes and time, shared where many ask for the same, failures as values.

Pods of a namespace, nodes and LogProfiles come from snapshots that a process shares; whatever decides something
irreversible is read past them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
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
from webhook.pods import Pods
from webhook.snapshots import OverTime, Snapshots, tried

PAGE = 500  # objects a list request
CALL_SECONDS = (
    30  # of a hook call; the last request may take 25 more, and the chart has Metacontroller wait for 55 or longer
)
OVER_TIME = Unreadable(f"the API server took over {CALL_SECONDS} s in all")
LOG_PROFILE_SECONDS = 30
LOG_SECONDS = 15  # a log endpoint that takes longer is unreadable for this sync
NOT_FOUND = 404
CRE = "cre.nvidia.com/v1alpha1"

Item = TypeVar("Item")
Reader = Callable[[Read], Any]


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


class Observer:
    """Answers reads from one API server; one a process, shared by its threads."""

    def __init__(self, api: ApiServer) -> None:
        """Start with empty snapshots."""
        self._api = api
        self._nodes: Snapshots[tuple[Node, ...]] = Snapshots()
        self._pods = Pods()
        self._profiles: Snapshots[LiveObject | None] = Snapshots()

    def read(self, read: Read, until: float = inf) -> Any:
        """Answer one read as `sync_hooks.api.sync` says; Unreadable where it fails.

        From the moment ``until``, by the monotonic clock, nothing is asked and nobody is waited for.
        """
        try:
            found = tried(lambda: self._answer(read, until))
        except OverTime:
            return OVER_TIME
        return found

    def _answer(self, read: Read, until: float) -> Any:
        match read:
            case GetObject():
                return self._object(read)
            case ListObjects():
                return self._objects(read, until)
            case GetLogProfile(name):
                known = GetObject(CRE, "LogProfile", name)
                return self._profiles.get(name, LOG_PROFILE_SECONDS, lambda: self._object(known), until)
            case ListNodes(max_age):
                return self._nodes.get("", max_age, lambda: self._list_nodes(until), until)
            case ListPods():
                return self._pods.read(read, partial(self._list_pods, until=until), until)
            case ReadLog():
                return self._log(read)
            case ListKinds(api_version):
                return self._kinds(api_version)
            case ListEvents():
                return self._told(read, until)

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

    def _objects(self, read: ListObjects, until: float) -> tuple[LiveObject, ...]:
        path = Path(read.api_version, RESOURCES[read.api_version, read.kind], read.namespace)
        found = self._list(path, _OBJECTS, {}, until)
        return tuple(sorted(found, key=lambda item: (item.metadata.namespace, item.metadata.name)))

    def _list_nodes(self, until: float) -> tuple[Node, ...]:
        return tuple(sorted(self._list(Path("v1", "nodes"), _NODES, {}, until), key=lambda node: node.name))

    def _list_pods(self, namespace: str, selector: str, until: float) -> list[Pod]:
        return self._list(Path("v1", "pods", namespace), _PODS, {"labelSelector": selector}, until)

    def _list(
        self, path: Path, decoder: msgspec.json.Decoder[Page[Item]], query: dict[str, str | int], until: float
    ) -> list[Item]:
        items: list[Item] = []
        query = {**query, "limit": PAGE}
        while monotonic() < until:
            page = decoder.decode(self._api.get(path, query))
            items.extend(page.items)
            if not page.metadata.continue_:
                return items
            query = {**query, "continue": page.metadata.continue_}
        raise OverTime

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

    def _told(self, read: ListEvents, until: float) -> tuple[Told, ...]:
        about = {"uid": read.uid, "kind": read.kind, "name": read.name}
        wanted = [f"involvedObject.{key}={value}" for key, value in about.items() if value]
        query: dict[str, str | int] = {"fieldSelector": ",".join((*wanted, f"reason={read.reason}"))}
        events = self._list(Path("v1", "events", read.namespace), _EVENTS, query, until)
        told = (Told(event.message, event.lastTimestamp or event.eventTime or "") for event in events)
        return tuple(sorted(told, key=lambda event: event.at, reverse=True))


def within(read: Reader, until: float) -> Reader:
    """Return a reader for one call, to which the cluster is unreadable from the moment ``until``.

    A call that takes longer than Metacontroller waits would be repeated for ever, and no status would say why.
    """

    def reading(wanted: Read) -> Any:
        return read(wanted) if monotonic() < until else OVER_TIME

    return reading
