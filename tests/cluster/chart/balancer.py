"""A Service in small: one port of this machine, connections passed on to several servers in turn."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator, Sequence

from tests.cluster.piping import join


@contextlib.contextmanager
def balancing(port: int, targets: Sequence[int]) -> Iterator[None]:
    """Accept connections on a port until the context ends."""
    listening = socket.create_server(("127.0.0.1", port))
    turns, stop = itertools.cycle(targets), threading.Event()

    def accept() -> None:
        while not stop.is_set():
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=_join, args=(client, next(turns)), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def _join(client: socket.socket, target: int) -> None:
    with client, socket.create_connection(("127.0.0.1", target)) as server:
        join(client, server)
