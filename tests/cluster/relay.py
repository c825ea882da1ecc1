"""A way to a server that can be cut: connections on a port of this machine are passed on, until nobody gets through."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from tests.cluster.piping import join

ADDRESS = "127.0.0.1"


class Relay:
    """Passes bytes on between its own port and a server's."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._cut = False
        self._listening = socket.create_server((ADDRESS, 0))
        self._thread = threading.Thread(target=self._accept, name="relay", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listening.getsockname()[1]
        return port

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        self._end_all()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """End every connection, and each new one at once, until the context ends."""
        with self._guard:
            self._cut = True
        self._end_all()
        try:
            yield
        finally:
            with self._guard:
                self._cut = False

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._cut:
                client.close()
            else:
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, self._kept(client, server):
            join(client, server)

    @contextlib.contextmanager
    def _kept(self, *ends: socket.socket) -> Iterator[None]:
        with self._guard:
            self._open.update(ends)
        try:
            yield
        finally:
            with self._guard:
                self._open.difference_update(ends)

    def _end_all(self) -> None:
        with self._guard:
            ends = list(self._open)
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
