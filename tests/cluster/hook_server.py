"""A hook server for tests of the driver: HTTPS, a bearer token, and answers that the test makes up as it goes."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.cluster.pki import Identity

Answer = Callable[[str, dict[str, Any]], dict[str, Any] | int]
"""From path and request to the body of a 200, or to a status code alone (429 goes with Retry-After 1)."""


@dataclass
class HookServer:
    """What it answers, to whom, and what it was asked."""

    port: int
    answer: Answer = lambda path, request: {}
    tokens: set[str] = field(default_factory=lambda: {"first"})
    calls: list[str] = field(default_factory=list)


@contextmanager
def serving(identity: Identity) -> Iterator[HookServer]:
    """Serve on loopback with this certificate until the context ends."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    http.hooks = hooks = HookServer(http.server_port)  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield hooks
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        hooks: HookServer = self.server.hooks  # type: ignore[attr-defined]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        hooks.calls.append(self.path)
        known = self.headers["Authorization"] in {f"Bearer {token}" for token in hooks.tokens}
        answer = hooks.answer(self.path, request) if known else 401
        status, body = (answer, {}) if isinstance(answer, int) else (200, answer)
        data = json.dumps(body).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test asserts what matters."""
