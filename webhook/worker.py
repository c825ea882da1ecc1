"""gunicorn's threaded worker, made patient: a connection takes a thread only once its caller has said something.

The worker itself lets a thread wait for the first byte for seconds, so that a few silent callers hold up all others,
and takes its leave of callers in the loop that everybody waits for. After an answer a thread stays for a moment: the
API server's next review often follows at once, and the way back through the poller costs two changes of threads, about
a third of a request.
"""

from __future__ import annotations

import errno
import select
import selectors
import socket
import ssl
from collections import deque
from concurrent.futures import Future
from functools import partial
from time import monotonic, sleep

from gunicorn.http.message import Request  # type: ignore[import-untyped]
from gunicorn.workers.gthread import _DEFER, ThreadWorker  # type: ignore[import-untyped]

from webhook.connection import Connection
from webhook.tls import PRESSURE, BoundedSocket

SILENCE_SECONDS = 10.0  # from connecting to the first byte, and from the handshake to the next
STAY_MILLISECONDS = 20  # for the next request; while there are threads for all connections nobody waits for this one
FULL_PAUSE_SECONDS = 0.05  # without a file to be had: what waits to be accepted would wake the loop again at once

_NOBODY_THERE = (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK)
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ECONNABORTED, errno.ETIMEDOUT)


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Accepts a connection like the worker that it is, but hands it to the poller instead of a thread."""

    def init_process(self) -> None:
        """Tell connections that are slow to speak who waits for their thread."""
        self._waiting: deque[None] = deque()  # a place for each that is handed to the threads and has none yet
        PRESSURE.watch(self._waiting)
        super().init_process()

    def enqueue_req(self, conn: Connection) -> None:
        """Hand a connection to the threads."""
        self._waiting.append(None)
        super().enqueue_req(conn)

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection and wait for its first byte beside all the others."""
        try:
            connected, address = listener.accept()
        except OSError as error:
            if error.errno in _FULL:
                if not self._dismiss_silent():
                    sleep(FULL_PAUSE_SECONDS)
            elif error.errno not in _NOBODY_THERE:
                raise
            return
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._dismiss_silent()
        connection = Connection(self.cfg, connected, address, listener.getsockname())  # makes it non-blocking
        connection.timeout = monotonic() + SILENCE_SECONDS
        self.pending_conns.append(connection)
        self.poller.register(connected, selectors.EVENT_READ, partial(self.on_pending_socket_readable, connection))

    def _dismiss_silent(self) -> bool:
        """Close who has been silent for longest, and tell whether there was anybody.

        Else strangers who hold as many connections as there may be would keep all others out. Whoever has not asked for
        anything goes before those who have: the API server is one of them, and opens another connection where it must.
        """
        for silent in (self.pending_conns, self.keepalived_conns):
            connection = next((one for one in silent if not _says_something(one.sock)), None)
            if connection is not None:
                silent.remove(connection)
                self.poller.unregister(connection.sock)
                self.nr_conns -= 1
                connection.close()
                return True
        return False

    def handle(self, connection: Connection) -> object:
        """Answer a request and those that follow it at once; returns what gunicorn asks for, True to be kept.

        Takes leave here of a caller that is not kept: gunicorn would do it in its main loop, and a caller that does
        not hang up would hold up all others there.
        """
        self._waiting.pop()
        kept: object = False
        try:
            kept = self._serve(connection)
        finally:
            if kept is not True and kept is not _DEFER:
                connection.close(graceful=True)
        return kept

    def handle_request(self, req: Request, conn: Connection) -> bool:
        """Answer a request whose head has come: its body may take longer."""
        conn.sock.begin_body()
        return bool(super().handle_request(req, conn))

    def finish_request(self, conn: Connection, fs: Future[object]) -> None:
        """Take a connection back; one that only shook hands must say something as soon as one that did not."""
        super().finish_request(conn, fs)
        if self.pending_conns and self.pending_conns[-1] is conn:
            conn.timeout = monotonic() + SILENCE_SECONDS

    def _serve(self, connection: Connection) -> object:
        if not connection.initialized:
            if not self._shake_hands(connection):
                return False
            if not self._more(connection):
                return _DEFER  # back to the poller, without a thread
        kept = self._answer(connection)
        while kept is True and self._more(connection):
            kept = self._answer(connection)
        return kept

    def _shake_hands(self, connection: Connection) -> bool:
        """Tell whether the caller speaks TLS as we do. Whoever does not is a stranger, and no line of the log."""
        try:
            connection.init()
        except OSError as error:
            if not isinstance(error, ssl.SSLError) and error.errno not in _GONE:
                self.log.exception("A connection could not be served.")
            return False
        return True

    def _answer(self, connection: Connection) -> object:
        kept = super().handle(connection)
        try:
            if isinstance(connection.sock, BoundedSocket):
                connection.sock.flush()
        except OSError:  # the caller has gone
            return False
        return kept

    def _more(self, connection: Connection) -> bool:
        """Tell whether the next request has begun to come, in time and while this thread is not needed elsewhere."""
        if connection.holds_more():  # the poller does not see it any more
            return True
        if not self.alive or self.nr_conns > self.cfg.threads:
            return False
        return _says_something(connection.sock, STAY_MILLISECONDS)


def _says_something(sock: socket.socket, milliseconds: int = 0) -> bool:
    """Tell whether there is something to be read of a connection, its end included, or will be in a moment."""
    waiting = select.poll()
    waiting.register(sock, select.POLLIN)
    return bool(waiting.poll(milliseconds))
