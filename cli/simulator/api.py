"""What the driver needs of an API server, and the one in memory. Another implementation may speak to a live one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from cli.simulator.entry import Change, Entry, Object
from cli.simulator.errors import Unavailable
from cli.simulator.faults import Dice
from cli.simulator.kinds import Kind
from cli.simulator.store import Propagation, Store


class Api(Protocol):
    """Requests of one client. All raise `errors.ApiError`; ``calls`` counts requests for the client's rate limit."""

    calls: int

    def kind_of(self, api_version: str, kind: str) -> Kind | None:
        """Find a served kind by its own name."""

    def resource(self, api_version: str, resource: str) -> Kind | None:
        """Find a served kind by its plural name."""

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """Read one live object; raises NotFound."""

    def list(self, kind: Kind, namespace: str | None, labels: Mapping[str, str]) -> Iterable[Object]:
        """Read live objects by namespace and equal labels."""

    def create(self, obj: Object) -> Object:
        """Create an object; raises AlreadyExists."""

    def update(self, obj: Object) -> Object:
        """Replace an object but its status; raises Conflict."""

    def update_status(self, obj: Object) -> Object:
        """Replace the status of an object; raises Conflict."""

    def patch(self, entry: Entry, patch: Object) -> Object:
        """Apply a JSON merge patch."""

    def delete(self, entry: Entry, propagation: Propagation) -> None:
        """Delete the object with this UID; raises NotFound and Conflict."""


class Handler(Protocol):
    """What an informer tells."""

    def __call__(self, change: Change) -> None:
        """Take note of one change; an update whose two versions are the same object is a periodic resync."""


class Cache(Protocol):
    """The informer of one kind: what the watch has told so far, which may be less than what is stored."""

    def find(self, namespace: str, name: str) -> Entry | None:
        """Return an object as the cache knows it."""

    def entries(self) -> Iterable[Entry]:
        """Every object the cache knows."""

    def controlled(self, uid: str) -> Iterable[Entry]:
        """Objects whose controlling owner has this UID."""

    def orphans(self, uid: str) -> Iterable[Entry]:
        """Objects that nobody controls and whose label ``controller-uid`` has this value."""

    def subscribe(self, handler: Handler) -> None:
        """Tell what is there already as new, and every change from now on."""


class Informers(Protocol):
    """Caches that all controllers share, one a kind."""

    def of(self, kind: Kind) -> Cache:
        """Return the cache of a kind; the first call starts it."""

    def restart(self) -> None:
        """Tell everything anew, as to a process that has just started."""


class StoreApi:
    """A client of the store in memory. ``dice`` make its writes fail, get lost, or end the process."""

    def __init__(self, store: Store, actor: str, dice: Dice | None = None) -> None:
        self.calls = 0
        self._store = store
        self._actor = actor
        self._dice = dice or Dice()

    def kind_of(self, api_version: str, kind: str) -> Kind | None:
        """Find a served kind by its own name."""
        return self._store.discovery.of_kind(api_version, kind)

    def resource(self, api_version: str, resource: str) -> Kind | None:
        """Find a served kind by its plural name."""
        return self._store.discovery.of_resource(api_version, resource)

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """Read one live object; raises NotFound."""
        self.calls += 1
        return self._store.get(kind.api_version, kind.kind, namespace if kind.namespaced else "", name).obj

    def list(self, kind: Kind, namespace: str | None, labels: Mapping[str, str]) -> Iterable[Object]:
        """Read live objects by namespace and equal labels."""
        self.calls += 1
        return [entry.obj for entry in self._store.select(kind.api_version, kind.kind, namespace, labels)]

    def create(self, obj: Object) -> Object:
        """Create an object; raises AlreadyExists."""
        self._before()
        return self._after(self._store.create(obj, actor=self._actor))

    def update(self, obj: Object) -> Object:
        """Replace an object but its status; raises Conflict."""
        self._before()
        return self._after(self._store.update(obj, actor=self._actor))

    def update_status(self, obj: Object) -> Object:
        """Replace the status of an object; raises Conflict."""
        self._before()
        return self._after(self._store.update_status(obj, actor=self._actor))

    def patch(self, entry: Entry, patch: Object) -> Object:
        """Apply a JSON merge patch."""
        self._before()
        return self._after(self._store.patch(entry, patch, actor=self._actor))

    def delete(self, entry: Entry, propagation: Propagation) -> None:
        """Delete the object with this UID; raises NotFound and Conflict."""
        self._before()
        self._store.delete(entry, propagation=propagation, actor=self._actor)
        self._after(entry)

    def _before(self) -> None:
        self.calls += 1
        self._dice.step()
        if self._dice.hits(self._dice.faults.write_error):
            raise Unavailable("the server is currently unable to handle the request")

    def _after(self, entry: Entry) -> Object:
        if self._dice.hits(self._dice.faults.write_lost):
            raise Unavailable("http2: client connection lost")
        return entry.obj
