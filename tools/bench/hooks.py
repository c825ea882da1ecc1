"""The hooks role under the calls of a whole run: CPU a group, and whether its memory grows.

The calls were recorded with all that they read; a loopback server stands in for the API server and gives the same
again. Both are in other processes than the hooks, whose CPU and memory alone are counted.
"""

from __future__ import annotations

import itertools
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

import urllib3

from tests.cluster.pki import create_authority

from . import servers
from .hook_calls import Answers, Call, record
from .row import Row, below, compared, ratio_at_most, watched

GROUPS = 30
ROUNDS = 3
"""How often the calls of the whole run are counted; what other processes do to a cache is in each."""
TOKEN = "of-the-bench"  # noqa: S105 - of a server that lives as long as the measurement
WARM, MANY = 1000, 5000
"""Syncs after which memory is looked at: the first fills caches and compiles what is used."""
MOST_GROWTH = 1.05
MOST_MILLISECONDS = 30.0


def rows() -> list[Row]:
    """Record a run, make its calls again and again. Raises RuntimeError where one is refused."""
    calls = record(GROUPS)
    with servers.folder() as folder, _api() as api:
        authority = create_authority(folder / "pki")
        kubeconfig = servers.kubeconfig(folder, api.server_port)
        with servers.hooks(folder, authority, TOKEN, kubeconfig) as port:
            caller = _Caller(port, authority.certificate, api)
            turns = itertools.cycle(calls)
            caller.make(itertools.islice(turns, max(WARM, len(calls))))
            first, spent = servers.memory(folder, "hooks"), []
            for _ in range(ROUNDS):
                before = servers.cpu_seconds(folder, "hooks")
                caller.make(itertools.islice(turns, len(calls)))
                spent.append(servers.cpu_seconds(folder, "hooks") - before)
            caller.make(itertools.islice(turns, max(0, MANY - max(WARM, len(calls)) - ROUNDS * len(calls))))
            last = servers.memory(folder, "hooks")
    return _rows(len(calls), median(spent), first, last)


def _rows(calls: int, cpu: float, first: float, last: float) -> list[Row]:
    at, name = f"after {WARM}", f"memory of the hooks role after {MANY} syncs"
    return [
        watched("CPU of the hooks a group, with bandwidth", 1e3 * cpu / GROUPS, "ms CPU", below(MOST_MILLISECONDS)),
        watched("calls a group", calls / GROUPS, "calls"),
        watched("CPU of the hooks a call", 1e3 * cpu / calls, "ms CPU"),
        compared(name, last, "MiB", at, first, last / first, ratio_at_most(MOST_GROWTH)),
    ]


class _Api(ThreadingHTTPServer):
    """Answers what the call that is being made was answered when it was recorded."""

    daemon_threads = True
    answers: Answers = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer
    server: _Api

    def do_GET(self) -> None:
        """Answer from the recording, else as for what is not there."""
        known = self.server.answers.get(self.path)
        body = b'{"kind":"Status","code":404}' if known is None else known
        self.send_response(404 if known is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Take an event."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def _api() -> Iterator[_Api]:
    api = _Api((servers.ADDRESS, 0), _Handler)
    thread = threading.Thread(target=api.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.shutdown()
        api.server_close()
        thread.join()


class _Caller:
    """Calls the hooks one after the other on one connection."""

    def __init__(self, port: int, authority: Path, api: _Api) -> None:
        self._api = api
        context = ssl.create_default_context(cafile=str(authority))
        self._pool = urllib3.HTTPSConnectionPool(servers.ADDRESS, port, ssl_context=context)
        self._headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def make(self, calls: Iterator[Call]) -> None:
        for call in calls:
            self._api.answers = call.answers
            path = f"/hooks/{call.controller}/{call.hook}"
            answer = self._pool.urlopen("POST", path, body=call.body, headers=self._headers)
            if answer.status != 200:
                raise RuntimeError(f"{path} answered {answer.status}: {answer.data[:400]!r}")
