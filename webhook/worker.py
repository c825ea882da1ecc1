"""gunicorn's threaded worker, made patient: a connection takes a thread only once its caller has said something.

The worker itself lets a thread wait for the first byte for seconds, so that a few silent callers hold up all others.
"""

from __future__ import annotations

import errno
import selectors
import socket
from functools import partial
from time import monotonic

from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

SILENCE_SECONDS = 10.0  # from connecting to the first byte

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
        connection = TConn(self.cfg, connected, address, listener.getsockname())  # makes it non-blocking
        connection.timeout = monotonic() + SILENCE_SECONDS
        self.pending_conns.append(connection)
        self.poller.register(connected, selectors.EVENT_READ, partial(self.on_pending_socket_readable, connection))
