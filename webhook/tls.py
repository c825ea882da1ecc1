"""TLS of the server: the certificate as it is on disk at each handshake, and connections that end in time."""

from __future__ import annotations

import errno
import logging
import ssl
import threading
from collections.abc import Callable, Sized
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar, cast

from webhook.metrics import CERTIFICATE_LOADS

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

CERTIFICATE = "tls.crt"
KEY = "tls.key"
REQUEST_SECONDS = 10.0  # from a request's first byte to its last, so that slow senders do not hold all threads
HEAD_SECONDS = 3.0  # for a handshake, and for a request's head: nobody who means well sends either in pieces
PRESSED_SECONDS = 0.3  # of silence, while others wait for a thread: a lost packet comes again in 0.2
MOST_SLOW = 16  # connections that are waited for longer all the same: a quarter of the threads
DISCARD_SECONDS = 1.0  # of silence, in a body that is only read so that its sender sees why it is refused
TIMEOUT_SLACK_SECONDS = 0.25  # a timeout may be this much longer
_HEAD_BEGINS, _HEAD_ENDS = b"HTTP/1.", b"\r\n\r\n"  # gunicorn sends a head as a whole, and apart from the body

log = logging.getLogger(__name__)

T = TypeVar("T")
Stamp = tuple[tuple[int, int, int], ...]


class Pressure:
    """Whether callers wait for a thread, and who may hold one all the same although it is slow: a few, not all.

    Threads that work are no reason to let a slow caller go. In a process without a worker of ours nobody waits.
    """

    def __init__(self) -> None:
        self._waiting: Sized = ()
        self._slow: set[int] = set()
        self._guard = threading.Lock()

    def watch(self, waiting: Sized) -> None:
        """Look from now on at who waits."""
        self._waiting = waiting

    def __bool__(self) -> bool:
        """Tell whether anybody waits now."""
        return bool(self._waiting)

    def spares(self, slow: object) -> bool:
        """Tell whether a connection that has just been silent may go on holding its thread."""
        if not self._waiting:
            return True
        with self._guard:
            if len(self._slow) < MOST_SLOW:
                self._slow.add(id(slow))
            return id(slow) in self._slow

    def forget(self, slow: object) -> None:
        """Give the place of a slow connection that has said something, or has gone, to another."""
        with self._guard:
            self._slow.discard(id(slow))


PRESSURE = Pressure()


class BoundedSocket(ssl.SSLSocket):
    """A connection whose requests must have arrived within a time, however slowly their bytes come.

    gunicorn makes a socket blocking when it begins to read a request: from there on the time counts. The socket's own
    timeout is short and always the same, and who waits longer waits several times: so it need not be changed, and where
    others have come to wait for the thread in the meantime they get it.
    """

    _deadline: float | None = None
    _patience = REQUEST_SECONDS  # for the next byte
    _head = b""

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001  the signature is the socket's
        """Begin a request, or wait for the next one."""
        self._deadline = monotonic() + HEAD_SECONDS if flag else None
        self._patience = REQUEST_SECONDS
        self._let_wait(PRESSED_SECONDS if flag else 0.0)

    def shake_hands(self) -> None:
        """Shake hands in time. Raises ConnectionResetError where the other side takes too long."""
        self.settimeout(PRESSED_SECONDS)
        try:
            self._in_time(self.do_handshake, monotonic() + HEAD_SECONDS)
        except TimeoutError:
            raise _reset("the handshake took too long") from None

    def begin_body(self) -> None:
        """Give a request whose head has come the time that a whole request has."""
        if self._deadline is not None:
            self._deadline += REQUEST_SECONDS - HEAD_SECONDS
        self._patience = REQUEST_SECONDS

    def hurry(self) -> None:
        """Wait only for a moment each time, for what is left of a request."""
        self._patience = DISCARD_SECONDS

    def shutdown(self, how: int) -> None:
        """End the connection: what is read from here on is nobody's request, and waits as its reader says."""
        self._deadline = None
        super().shutdown(how)

    def _let_wait(self, seconds: float) -> None:
        """Set the timeout where it is another: each change is a system call, and lets another thread run first."""
        current = self.gettimeout()
        near = current is not None and 0 <= current - seconds < TIMEOUT_SLACK_SECONDS
        if not near or bool(current) != bool(seconds):
            self.settimeout(seconds)

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]
        """Send, but keep the head of an answer until its body or `flush` comes: one record and one packet for both."""
        head, self._head = self._head, b""
        if not head and data.startswith(_HEAD_BEGINS) and data.endswith(_HEAD_ENDS):
            self._head = data
        else:
            self._send_all(head + data, flags)

    def flush(self) -> None:
        """Send what is kept: an answer without a body ends with its head."""
        head, self._head = self._head, b""
        if head:
            self._send_all(head)

    def _send_all(self, data: bytes, flags: int = 0) -> None:
        """Send in one piece, as nearly every answer can be; `sendall` makes views of it first."""
        sent = self.send(data, flags)
        if sent < len(data):
            super().sendall(data[sent:], flags)

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        """Send, and wait for a caller that reads slowly. Raises ConnectionResetError where it does not read at all."""
        self._let_wait(PRESSED_SECONDS)
        try:
            return self._in_time(lambda: super(BoundedSocket, self).send(data, flags), monotonic() + REQUEST_SECONDS)
        except TimeoutError:
            raise _reset("the answer took too long to be read") from None

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive, within what is left of the request's time. Raises ConnectionResetError when it is over."""
        if self._deadline is None:
            return super().recv(buflen, flags)
        end = min(self._deadline, monotonic() + self._patience)
        self._let_wait(PRESSED_SECONDS)
        try:
            return self._in_time(lambda: super(BoundedSocket, self).recv(buflen, flags), end)
        except TimeoutError:
            raise _reset("the request took too long to arrive") from None

    def _in_time(self, step: Callable[[], T], end: float) -> T:
        """Do a step that waits, again and again. Raises TimeoutError at the end, or when the thread is to be given."""
        if monotonic() >= end:
            raise TimeoutError
        slow = False
        try:
            while True:
                try:
                    return step()
                except TimeoutError:
                    slow = True
                    if monotonic() >= end or not PRESSURE.spares(self):
                        raise
        finally:
            if slow:
                PRESSURE.forget(self)


def _reset(reason: str) -> ConnectionResetError:
    """Say why a connection ends; with this number gunicorn takes it for a caller that has gone, and logs nothing."""
    return ConnectionResetError(errno.ECONNRESET, reason)


def hurry(sock: object) -> None:
    """Wait only for a moment each time for what is left of a request, on a connection of ours."""
    if isinstance(sock, BoundedSocket):
        sock.hurry()


class BoundedContext(ssl.SSLContext):
    """A server's context whose handshakes end in time too."""

    sslsocket_class = BoundedSocket

    def wrap_socket(self, sock, *arguments, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        """Wrap a connection that was just accepted. Raises ConnectionResetError where the handshake takes too long."""
        options["do_handshake_on_connect"] = False
        wrapped = cast("BoundedSocket", super().wrap_socket(sock, *arguments, **options))
        try:
            wrapped.shake_hands()
        except OSError:
            wrapped.close()  # it has taken the connection over
            raise
        wrapped.setblocking(True)
        return wrapped


class ServingCertificate:
    """The certificate and key of a folder; read again when either file has changed, kept while they do not fit."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / CERTIFICATE, folder / KEY)
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """Return the context for the next handshake. Raises OSError or ssl.SSLError if there was never a usable one."""
        with self._lock:
            try:
                stamp = tuple((s.st_mtime_ns, s.st_ino, s.st_size) for s in (file.stat() for file in self._files))
                if self._context is None or stamp != self._stamp:
                    self._context = _load(*self._files)
                    self._stamp = stamp
                    CERTIFICATE_LOADS.labels("loaded").inc()
            except OSError as error:  # ssl.SSLError is one: half of a new pair is there, the other half comes
                CERTIFICATE_LOADS.labels("failed").inc()
                if self._context is None:
                    raise
                log.warning("the new certificate cannot be used yet, the old one still is: %s", error)
            return self._context


def _load(certificate: Path, key: Path) -> ssl.SSLContext:
    context = BoundedContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context
