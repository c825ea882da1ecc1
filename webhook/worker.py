"""gunicorn's threaded worker, made patient: a connection takes a thread only once its caller has said something.

The worker itself lets a thread wait for the first byte for seconds, so that a few silent callers hold up all others.
After an answer a thread stays for a moment: the API server's next review often follows at once, and the way back
through the poller costs two changes of threads, about a third of a request.
"""

from __future__ import annotations

import errno
import select
import selectors
import socket
from functools import partial
from time import monotonic

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from webhook.connection import Connection
from webhook.tls import BoundedSocket

SILENCE_SECONDS = 10.0  # from connecting to the first byte
STAY_MILLISECONDS = 20  # for the next request; while there are threads for all connections nobody waits for this one

_NOBODY_THERE = (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK)


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Accepts a connection like the worker that it is, but hands it to the poller instead of a thread."""

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection and wait for its first byte beside all the others."""
        try:
            connected, address = listener.accept()
        except OSError as error:
            if error.errno not in _NOBODY_THERE:
                raise
            return
        self.nr_conns += 1
        connection = Connection(self.cfg, connected, address, listener.getsockname())  # makes it non-blocking
        connection.timeout = monotonic() + SILENCE_SECONDS
        self.pending_conns.append(connection)
        self.poller.register(connected, selectors.EVENT_READ, partial(self.on_pending_socket_readable, connection))

    def handle(self, connection: Connection) -> object:
        """Answer a request and those that follow it at once; returns what gunicorn asks for, True to be kept."""
        kept = self._answer(connection)
        while kept is True and self._more(connection):
            kept = self._answer(connection)
        return kept

    def _answer(self, connection: Connection) -> object:
        kept = super().handle(connection)
        try:
            if isinstance(connection.sock, BoundedSocket):  # plain where the handshake failed
                connection.sock.flush()
        except OSError:  # the caller has gone
            return False
        return kept

    def _more(self, connection: Connection) -> bool:
        """Tell whether the next request has begun to come, in time and while this thread is not needed elsewhere."""
        if not self.alive or self.nr_conns > self.cfg.threads:
            return False
        waiting = select.poll()
        waiting.register(connection.sock, select.POLLIN)
        return bool(waiting.poll(STAY_MILLISECONDS))
