"""A load generator for admission: persistent TLS connections, each with one request after the other.

Written on plain sockets, so that its own cost is small beside a server's and equal for all of them. It understands only
answers with a Content-Length, and stops at the first one that is not wanted.
"""

from __future__ import annotations

import re
import socket
import ssl
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import cycle, islice
from threading import Barrier
from time import perf_counter

WARM_UP = 10
"""Requests of each connection that are not counted: handshake, first use of a thread."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_RECEIVED = 1 << 16


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send what: ``wanted`` must be part of every answer's body."""

    port: int
    path: str
    body: bytes
    wanted: bytes = b'"allowed":true'

    @property
    def request(self) -> bytes:
        """The whole request as it is sent."""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(self.body)}\r\n\r\n"
        )
        return head.encode() + self.body


@dataclass(frozen=True, slots=True)
class Sample:
    """What one burst of requests showed, times in milliseconds."""

    median: float
    p99: float
    per_second: float
    cpu: float = 0.0
    """Of the server, a request."""


def burst(endpoints: Sequence[Endpoint], context: ssl.SSLContext, connections: int, each: int) -> Sample:
    """Send ``each`` requests on so many connections at once, spread over the endpoints as a Service spreads them.

    Raises ValueError for an answer that is not wanted.
    """
    started = Barrier(connections + 1)
    with ExitStack() as opened, ThreadPoolExecutor(connections) as threads:
        callers = [(_connect(item.port, context), item) for item in islice(cycle(endpoints), connections)]
        for connection, _ in callers:
            opened.enter_context(closing(connection))
        running = [
            threads.submit(_drive, connection, item.request, item.wanted, each, started.wait)
            for connection, item in callers
        ]
        started.wait()
        began = perf_counter()
        times = sorted(seconds for item in running for seconds in item.result())
        lasted = perf_counter() - began
    return _sample(times, lasted)


def _sample(times: Sequence[float], lasted: float) -> Sample:
    return Sample(
        median=1e3 * statistics.median(times),
        p99=1e3 * times[min(len(times) - 1, int(0.99 * len(times)))],
        per_second=len(times) / lasted,
    )


def _connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def _drive(
    connection: ssl.SSLSocket, request: bytes, wanted: bytes, each: int, ready: Callable[[], object]
) -> list[float]:
    for _ in range(WARM_UP):
        _exchange(connection, request, wanted)
    ready()
    times = []
    for _ in range(each):
        began = perf_counter()
        _exchange(connection, request, wanted)
        times.append(perf_counter() - began)
    return times


def _exchange(connection: ssl.SSLSocket, request: bytes, wanted: bytes) -> None:
    connection.sendall(request)
    answer = _received(connection, b"")
    while (end := answer.find(b"\r\n\r\n")) < 0:
        answer = _received(connection, answer)
    length = _LENGTH.search(answer, 0, end + 2)
    if length is None:
        raise ValueError(f"an answer without a length: {answer[:300]!r}")
    while len(answer) < end + 4 + int(length[1]):
        answer = _received(connection, answer)
    if wanted not in answer[end:].replace(b": ", b":"):
        raise ValueError(f"not the answer that was wanted: {answer[:600]!r}")


def _received(connection: ssl.SSLSocket, before: bytes) -> bytes:
    more = connection.recv(_RECEIVED)
    if not more:
        raise ValueError(f"the connection was closed after {before[:300]!r}")
    return before + more
