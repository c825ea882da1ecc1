"""Every object of a kind that ever was, by name: what a list at the end no longer tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cli.simulator.entry import Change
from cli.simulator.kinds import Kind
from tests.cluster.live import LiveApi
from tests.cluster.loop import Loop
from tests.cluster.watching import LiveInformers


class Sightings:
    """Watches one kind in one namespace while its context lasts."""

    def __init__(self, kubeconfig: Path, kind: Kind, namespace: str) -> None:
        self._seen: dict[str, set[str]] = {}
        self._namespace = namespace
        self._kind = kind
        self._loop = Loop()
        self._api = LiveApi(kubeconfig)
        self._informers = LiveInformers(self._api, self._loop.post)

    def __enter__(self) -> Sightings:
        self._loop.post(lambda: self._informers.of(self._kind).subscribe(self._note))
        self._loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._informers.stop()
        try:
            self._loop.stop()
        finally:
            self._api.close()

    def of(self, prefix: str) -> Mapping[str, frozenset[str]]:
        """Return the UIDs that each name with this prefix has had, names without it."""
        names = [name for name in list(self._seen) if name.startswith(prefix)]
        return {name.removeprefix(prefix): frozenset(self._seen[name]) for name in names}

    def _note(self, change: Change) -> None:
        if change.entry.namespace == self._namespace:
            self._seen.setdefault(change.entry.name, set()).add(change.entry.uid)
