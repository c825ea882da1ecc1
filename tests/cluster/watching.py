"""Informers of a real API server: a list, then a watch on a thread, its events handed over in order to one loop.

The threads only read and post; caches change on the loop that `post` posts to, so controllers need no locks.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable

import msgspec
import urllib3

from cli.simulator.entry import Change, Entry, Object
from cli.simulator.errors import ApiError, NotFound, Unavailable
from cli.simulator.informer import Informer
from cli.simulator.kinds import Kind
from tests.cluster.live import LiveApi, Objects

WATCH_SECONDS = 300  # the server ends a watch after this; the next one goes on from the last version seen
RETRY_SECONDS = 0.5
FIRST_LIST_ATTEMPTS = 40

Post = Callable[[Callable[[], None]], None]
"""Runs an action on the loop, soon and in order; may be called from any thread."""


class LiveInformers:
    """All informers of one process, one watch a kind, over all namespaces."""

    def __init__(self, api: LiveApi, post: Post) -> None:
        self._api = api
        self._post = post
        self._informers: dict[Kind, Informer] = {}
        self._watches: list[_Watch] = []

    def of(self, kind: Kind) -> Informer:
        """Return the informer of a kind; the first call lists what there is and starts the watch."""
        informer = self._informers.get(kind)
        if informer is None:
            informer = self._informers[kind] = Informer()
            objects, version = self._first_list(kind)
            informer.load(Entry(kind, obj) for obj in objects)
            watch = _Watch(self._api, kind, informer, self._post, version)
            self._watches.append(watch)
            watch.start()
        return informer

    def restart(self) -> None:
        """Tell everything anew from what the caches have; only to be called on the loop."""
        for informer in self._informers.values():
            informer.replay()

    def _first_list(self, kind: Kind) -> tuple[Objects, str]:
        """List, again where the server is not ready for a kind whose definition is new. Raises ApiError."""
        for _ in range(FIRST_LIST_ATTEMPTS):
            try:
                return self._api.list_with_version(kind)
            except (NotFound, Unavailable):
                time.sleep(RETRY_SECONDS)
        return self._api.list_with_version(kind)

    def stop(self) -> None:
        """End all watches and wait for their threads."""
        for watch in self._watches:
            watch.stop()
        for watch in self._watches:
            watch.join()


class _Watch(threading.Thread):
    """Follows one kind; lists again where the server has forgotten the version to go on from."""

    def __init__(self, api: LiveApi, kind: Kind, informer: Informer, post: Post, version: str) -> None:
        super().__init__(name=f"watch {kind.group_resource}", daemon=True)
        self._api = api
        self._kind = kind
        self._informer = informer
        self._post = post
        self._version: str | None = version
        self._stopped = threading.Event()
        self._response: urllib3.BaseHTTPResponse | None = None

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                if self._version is None:
                    self._list()
                self._follow()
            except (ApiError, urllib3.exceptions.HTTPError, OSError, msgspec.DecodeError):
                self._stopped.wait(RETRY_SECONDS)

    def stop(self) -> None:
        """Ask the thread to end; a read that waits for the next event is ended too."""
        self._stopped.set()
        with contextlib.suppress(AttributeError, ValueError, RuntimeError, OSError):
            self._response.shutdown()  # type: ignore[union-attr]

    def _list(self) -> None:
        objects, self._version = self._api.list_with_version(self._kind)
        entries = [Entry(self._kind, obj) for obj in objects]
        self._post(lambda: replace(self._informer, entries))

    def _follow(self) -> None:
        assert self._version is not None
        self._response = self._api.watch(self._kind, self._version, WATCH_SECONDS)
        try:
            if self._response.status != 200:
                self._version = None
                raise ApiError(f"watch answered {self._response.status}")
            for line in self._response:
                if self._stopped.is_set():
                    return
                self._take(msgspec.json.decode(line))
        finally:
            self._response.close()

    def _take(self, event: Object) -> None:
        if event["type"] == "ERROR":  # 410 Gone, above all
            self._version = None
            raise ApiError(str(event["object"].get("message")))
        self._version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            change = Change(event["type"], Entry(self._kind, event["object"]))
            self._post(lambda: self._informer.receive(change))


def replace(informer: Informer, entries: Iterable[Entry]) -> None:
    """Bring a cache to the state of a new list, telling what appeared, changed and went in between."""
    listed = {entry.key: entry for entry in entries}
    for known in list(informer.entries()):
        if known.key not in listed:
            informer.receive(Change("DELETED", known))
    for entry in listed.values():
        before = informer.find(*entry.key)
        if before is None or before.version != entry.version:
            informer.receive(Change("ADDED" if before is None else "MODIFIED", entry))
