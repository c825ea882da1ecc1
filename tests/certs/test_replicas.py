"""Replicas are asked over real TLS: what they serve, whether they take a token, and who cannot be asked."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certs.authority import KeyPair
from certs.files import store
from certs.replicas import ServiceReplicas
from certs.situation import Seen
from tests.support.fakeapi import FakeApi
from tests.support.installation import INSTALLATION, NAMES, pair

AUTHORITY, SERVING = pair()
OTHER = pair()[1]
ADMISSION, HOOKS = INSTALLATION.admission_service, INSTALLATION.hooks_service


class Hooks(http.server.BaseHTTPRequestHandler):
    """Answers as the hooks do: 401 without a valid token, else 404 where there is no such hook."""

    def do_POST(self) -> None:
        known = self.headers.get("Authorization") == "Bearer good" and self.path.startswith("/hooks/")
        self.send_response(404 if known else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def server(folder: Path, serving: KeyPair) -> Iterator[int]:
    """Serve hooks with a certificate on a port of this machine."""
    store(folder, serving)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hooks)
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield listening.server_address[1]
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with server(tmp_path, SERVING) as port:
        yield port


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def replicas(admission: list[int], hooks: list[int], **conditions: bool) -> ServiceReplicas:
    """Return replicas on these ports of this machine."""
    api = FakeApi()
    for service, ports in ((ADMISSION, admission), (HOOKS, hooks)):
        items = [
            {
                "ports": [{"name": "health", "port": 1}, {"name": "https", "port": port}],
                "endpoints": [{"addresses": ["127.0.0.1"], "conditions": conditions}],
            }
            for port in ports
        ]
        api.store(INSTALLATION.slices_path(service), {"items": items})
    return ServiceReplicas(api, INSTALLATION)


def test_all_serve_the_certificate(port: int) -> None:
    assert replicas([port], [port]).serving(SERVING.certificate) is Seen.ALL


def test_one_that_serves_another_is_enough(port: int) -> None:
    assert replicas([port], [port]).serving(OTHER.certificate) is Seen.NOT_ALL


def test_one_that_cannot_be_reached_leaves_it_open(port: int) -> None:
    assert replicas([port], [closed_port()]).serving(SERVING.certificate) is Seen.UNKNOWN


def test_a_no_counts_more_than_one_that_cannot_be_reached(port: int) -> None:
    assert replicas([closed_port()], [port]).serving(OTHER.certificate) is Seen.NOT_ALL


def test_where_there_are_none_nobody_is_behind() -> None:
    assert replicas([], []).serving(SERVING.certificate) is Seen.ALL


def test_those_on_their_way_out_are_not_asked(port: int) -> None:
    assert replicas([port], [], terminating=True).serving(OTHER.certificate) is Seen.ALL


def test_those_that_are_not_ready_are_asked(port: int) -> None:
    assert replicas([port], [], ready=False).serving(OTHER.certificate) is Seen.NOT_ALL


def test_replicas_that_cannot_be_listed_leave_it_open(port: int) -> None:
    found = replicas([port], [port])
    with found.api.refusing(INSTALLATION.slices_path(HOOKS)):  # type: ignore[attr-defined]
        assert found.serving(SERVING.certificate) is Seen.UNKNOWN


def test_what_is_no_certificate_leaves_it_open(port: int) -> None:
    assert replicas([port], [port]).serving(b"garbage") is Seen.UNKNOWN


@pytest.mark.parametrize(("token", "seen"), [("good", Seen.ALL), ("bad", Seen.NOT_ALL)])
def test_hooks_say_whether_they_take_a_token(port: int, token: str, seen: Seen) -> None:
    assert replicas([], [port]).accepting(token, AUTHORITY.certificate) is seen


def test_a_token_is_shown_to_nobody_who_cannot_prove_who_it_is(port: int) -> None:
    assert replicas([], [port]).accepting("good", pair()[0].certificate) is Seen.UNKNOWN


def test_a_token_is_shown_under_the_right_name_only(tmp_path: Path) -> None:
    with server(tmp_path, pair(names=NAMES[:1])[1]) as port:
        elsewhere = replace(replicas([], [port]))
        assert elsewhere.accepting("good", AUTHORITY.certificate) is Seen.UNKNOWN
