"""What is said to a real server, and what becomes of its answers: an object, or one line about what went wrong."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from kubernetes.config import incluster_config

from certs.api import CONFLICT, UNREACHABLE, ApiError, ClusterApi
from certs.authority import make_authority

SECRET = "/api/v1/namespaces/readiness/secrets/run-tls"
PAGE = b"<html>\n  <h1>502</h1>\n  the proxy's page\n</html>\n"
STATUS = b'{"kind": "Status", "metadata": {}, "message": "the object has been modified"}'
CA = make_authority(datetime.now(UTC)).certificate.decode()


class Answering(BaseHTTPRequestHandler):
    """Gives the answer that its server has been given."""

    def do_GET(self) -> None:
        answering: Answers = self.server.answers  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(answering.status)
        self.send_header("Content-Length", str(len(answering.body) + answering.missing))
        self.send_header("Content-Type", "text/html")
        self.send_header("Location", "/login")
        self.end_headers()
        self.wfile.write(answering.body)

    def do_PUT(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass
class Answers:
    """What the server answers next."""

    kubeconfig: Path
    status: int = 200
    body: bytes = b""
    missing: int = 0
    """Bytes that it announces and does not send."""


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Answers]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.answers = given = Answers(tmp_path / "config")  # type: ignore[attr-defined]
        given.kubeconfig.write_text(kubeconfig(server.server_port, {"token": "t"}))
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield given
        server.shutdown()
        thread.join()


def kubeconfig(port: int, user: object) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


def test_an_object_is_returned_as_it_is(answers: Answers) -> None:
    answers.body = b'{"metadata": {"name": "run-tls"}, "data": {"a": "YQ=="}}'
    assert ClusterApi(str(answers.kubeconfig)).get(SECRET) == json.loads(answers.body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(PAGE, id="a proxy's page"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"metadata": {"na', id="half an object"),
        pytest.param(b'{"metadata": {"name": "\xff\xfe"}}', id="no UTF-8"),
        pytest.param(b'["metadata"]', id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(100_000 * b"[", id="nested without end"),
        pytest.param(b'{"error": "log in first"}', id="JSON of somebody else"),
        pytest.param(b'{"metadata": null}', id="no metadata"),
    ],
)
def test_what_is_no_object_of_kubernetes_comes_from_no_api_server(answers: Answers, body: bytes) -> None:
    answers.body = body
    with pytest.raises(ApiError, match=f"GET {SECRET}: no API server answers so") as caught:
        ClusterApi(str(answers.kubeconfig)).get(SECRET)
    assert caught.value.status == UNREACHABLE
    assert str(caught.value).endswith(f": {len(body)} bytes of text/html")  # nothing of what may be half a Secret


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        pytest.param(CONFLICT, STATUS, "409 the object has been modified", id="the API server's word"),
        pytest.param(502, PAGE, "502 <html> <h1>502</h1> the proxy's page </html>$", id="a proxy's page"),
        pytest.param(500, 100_000 * b"[", r"500 \[\[", id="nested without end"),
        pytest.param(302, PAGE, "302 <html>", id="sent elsewhere"),
    ],
)
def test_a_refusal_has_its_status_and_a_line(answers: Answers, status: int, body: bytes, message: str) -> None:
    answers.status, answers.body = status, body
    with pytest.raises(ApiError, match=rf"PUT {SECRET}\?fieldManager=workloadrun: {message}") as caught:
        ClusterApi(str(answers.kubeconfig)).put(SECRET, {"metadata": {}})
    assert caught.value.status == status


def test_an_answer_that_breaks_off_is_none(answers: Answers) -> None:
    answers.body, answers.missing = STATUS, 10
    with pytest.raises(ApiError) as caught:
        ClusterApi(str(answers.kubeconfig)).get(SECRET)
    assert caught.value.status == UNREACHABLE


def test_who_does_not_listen_is_not_reached(tmp_path: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        config = tmp_path / "config"
        config.write_text(kubeconfig(deaf.getsockname()[1], {"token": "t"}))
        with pytest.raises(ApiError, match="refused") as caught:
            ClusterApi(str(config)).get(SECRET)
    assert caught.value.status == UNREACHABLE


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the token's file of a pod, as the official client finds it; it is read anew for every request."""
    for constant, content in (("SERVICE_TOKEN_FILENAME", "t"), ("SERVICE_CERT_FILENAME", CA)):
        (tmp_path / constant).write_text(content)
        monkeypatch.setattr(incluster_config, constant, str(tmp_path / constant))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    at_once = SimpleNamespace(datetime=datetime, timedelta=lambda **_: timedelta(0))
    monkeypatch.setattr(incluster_config, "datetime", at_once)
    return tmp_path / "SERVICE_TOKEN_FILENAME"


def test_without_the_pods_token_nobody_is_reached_until_it_is_back(token: Path) -> None:
    api = ClusterApi()
    token.write_text("")
    with pytest.raises(ApiError, match="Token file exists but empty"):
        api.get(SECRET)
    token.unlink()
    with pytest.raises(ApiError, match="No such file") as caught:
        api.get(SECRET)
    assert caught.value.status == UNREACHABLE
    token.write_text("t")
    with pytest.raises(ApiError, match="refused"):
        api.get(SECRET)
