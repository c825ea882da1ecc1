"""A connection whose requests gunicorn reads, without finding out again what this connection has shown already.

Has no reading of HTTP of its own: a head that is new is gunicorn's to read and to refuse. Where another gunicorn asks
these methods no longer, nothing is lost but the time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.http.body import Body, ChunkedReader, LengthReader  # type: ignore[import-untyped]
from gunicorn.http.message import Request  # type: ignore[import-untyped]
from gunicorn.http.parser import RequestParser  # type: ignore[import-untyped]
from gunicorn.workers.gthread import TConn  # type: ignore[import-untyped]

from webhook.tls import PRESSURE, hurry

LINGER_SECONDS = 1.0  # for a caller to read its last answer and hang up
PRESSED_LINGER_SECONDS = 0.05  # the same while others wait for the thread
MOST_HEADS = 3  # remembered of a connection: a caller has one a path, and calls one path or two
LONGEST_HEAD_BYTES = 1024  # remembered: callers that mean well send a third of it

_END, _LENGTH = b"\r\n\r\n", "CONTENT-LENGTH"
_LENGTH_LINE = re.compile(rb"\r\nContent-Length: ([0-9]{1,15})\r\n", re.IGNORECASE)

Header = tuple[str, str]


# Measured on a small review that took 0.52 ms of CPU: reading heads again costs 0.03 ms, emptying bodies that are empty
# 0.02 and three system calls, finding out that nobody is to be believed 0.01. Not taken, as nothing could be measured:
# sockets that never block, another threshold of the garbage collector, a poll kept with the connection. Not taken
# either: a parser in C, which saves 0.01, a third of what remembering does, and would be one more package to compile.


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection over TLS that was just accepted, not shaken hands on yet."""

    _closed = False

    def init(self) -> None:
        """Shake hands, once, and read from then on."""
        if self.initialized:
            return
        super().init()
        if not self.is_http2:
            self.parser = Requests(self.cfg, self.sock, self.client)

    def holds_more(self) -> bool:
        """Tell whether some of the next request has been taken off the socket: decrypted, or read ahead."""
        return bool(self.sock.pending() or self.parser.unreader.buf.getvalue())

    def close(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002  the signature is gunicorn's
        """Close, once, and never fail: gunicorn closes what has been closed, and counts a connection twice if it fails.

        Gracefully: what has not been read of a request does not cost its sender the answer, nor us more than a moment.
        """
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):
            if graceful:
                self.sock.setblocking(True)
                util.close_graceful(self.sock, PRESSED_LINGER_SECONDS if PRESSURE else LINGER_SECONDS)
            else:
                util.close(self.sock)


@dataclass(frozen=True, slots=True)
class _Head:
    """What gunicorn made of a head: all that it noted, and the headers before and after the length."""

    noted: dict[str, Any]
    before: tuple[Header, ...]
    after: tuple[Header, ...]


class Requests(RequestParser):  # type: ignore[misc]  # gunicorn has no types
    """The requests of one connection, one after the other."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._heads: dict[bytes, _Head] = {}

    def mesg_class(self, *arguments: Any) -> Request:
        """Read the next request."""
        return _Request(self._heads, *arguments)

    def finish_body(self, deadline: float | None = None, max_bytes: int | None = None) -> bool:
        """Discard what has not arrived of a body; gunicorn sets timeouts for it, even where there is nothing."""
        if self.mesg is not None and _has_arrived(self.mesg.body):
            return True
        hurry(getattr(self.unreader, "sock", None))
        finished: bool = super().finish_body(deadline, max_bytes)
        return finished


def _has_arrived(body: Body) -> bool:
    """Tell whether all of a body has been taken off the connection, used or not."""
    reader = body.reader
    if isinstance(reader, ChunkedReader):
        return reader.parser is None
    return isinstance(reader, LengthReader) and reader.length == 0


class _Request(Request):  # type: ignore[misc]  # gunicorn has no types
    """A request whose head is read once for all of its kind: their lengths differ, and nothing else."""

    def __init__(self, heads: dict[bytes, _Head], *arguments: Any) -> None:
        self._heads = heads
        super().__init__(*arguments)

    def _peer_is_trusted_proxy(self) -> bool:
        """Believe nobody, as `forwarded_allow_ips` says; gunicorn parses the caller's address to find that out."""
        return False

    def should_close(self) -> bool:
        """Tell whether this is the last request; it is where its body could not be read: what follows is anything."""
        return self.body.failed or bool(super().should_close())

    def _parse_python(self, unreader: Any, buf: bytearray) -> bytes:
        """Read a head, or remember it; returns what was received of the body."""
        data = bytes(buf)
        end = data.find(_END)
        length = _LENGTH_LINE.search(data, 0, end + 2) if 0 <= end <= LONGEST_HEAD_BYTES else None
        if length is None:
            unread: bytes = super()._parse_python(unreader, buf)
            return unread
        key = data[: length.start(1)] + data[length.end(1) : end]
        head = self._heads.get(key)
        if head is None:
            return self._read(key, unreader, buf)
        self.__dict__.update(head.noted)
        self.headers = [*head.before, (_LENGTH, length[1].decode()), *head.after]
        return data[end + len(_END) :]

    def _read(self, key: bytes, unreader: Any, buf: bytearray) -> bytes:
        """Let gunicorn read a head, and keep all that it noted; one with two lengths is refused, and ends all this."""
        before = dict(vars(self))  # no attribute has the request itself as its value
        unread: bytes = super()._parse_python(unreader, buf)
        noted = {name: value for name, value in vars(self).items() if before.get(name, self) is not value}
        index = [name for name, _ in self.headers].index(_LENGTH)
        if len(self._heads) >= MOST_HEADS:
            self._heads.clear()
        self._heads[key] = _Head(noted, tuple(self.headers[:index]), tuple(self.headers[index + 1 :]))
        return unread
