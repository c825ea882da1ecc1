"""Health, readiness and metrics on a port of their own: plain HTTP, no token, nothing that a stranger may not know."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from webhook.metrics import CONTENT_TYPE, READY, exposition

TEXT = "text/plain; charset=utf-8"
READ_SECONDS = 5  # for a probe to send its request

log = logging.getLogger(__name__)


class Health:
    """Whether the process asks for requests. It does from `serve` on, until it is told to end."""

    def __init__(self) -> None:
        self._ready = threading.Event()

    @property
    def ready(self) -> bool:
        """Whether the process asks for requests."""
        return self._ready.is_set()

    def become_ready(self) -> None:
        """Ask for requests."""
        self._ready.set()
        READY.set(1)

    def become_unready(self) -> None:
        """Ask for no more requests; those that come are answered all the same."""
        self._ready.clear()
        READY.set(0)


class _Server(ThreadingHTTPServer):
    """Listens at every address, of both families where the system has both."""

    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def server_bind(self) -> None:
        """Take both families before the address is taken."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def serve(health: Health, port: int) -> ThreadingHTTPServer:
    """Serve the three paths from a thread of their own until the process ends. Raises OSError if the port is taken."""
    server = _Server(("", port), _handler(health))
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


def _handler(health: Health) -> type[BaseHTTPRequestHandler]:
    def readiness() -> tuple[int, str, bytes]:
        return (200, TEXT, b"ready\n") if health.ready else (503, TEXT, b"not ready\n")

    answers: dict[str, Callable[[], tuple[int, str, bytes]]] = {
        "/healthz": lambda: (200, TEXT, b"ok\n"),
        "/readyz": readiness,
        "/metrics": lambda: (200, CONTENT_TYPE, exposition()),
    }

    class Handler(BaseHTTPRequestHandler):
        timeout = READ_SECONDS

        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            code, content_type, body = answer() if answer else (404, TEXT, b"not found\n")
            self.send_response(code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            log.debug(format, *args)

    return Handler
