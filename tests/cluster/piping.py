"""Connections passed on, byte for byte: what a relay and a balancer have in common."""

from __future__ import annotations

import contextlib
import socket
import threading

CHUNK = 1 << 16


def join(one: socket.socket, other: socket.socket) -> None:
    """Pass on what either side says until both have ended; returns then, and closes neither."""
    back = threading.Thread(target=_pump, args=(other, one), daemon=True)
    back.start()
    _pump(one, other)
    back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
