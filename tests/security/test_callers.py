"""Who may call what: strangers, thieves of a token and tricks with paths and headers reach nothing.

Each test holds a sentence of docs/threat-model.md.
"""

from __future__ import annotations

import json
import ssl
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from certs.authority import make_authority
from tests.support.hooks import manifest
from tests.webhook.hooks_client import TOKEN, client_of_hooks
from tests.webhook.serving import GOOD, Server, review, start, stop
from webhook.app import create_app
from webhook.settings import ADMISSION, Settings

SYNC = "/hooks/cre-workloadruns/sync"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("server"))
    yield running
    stop(running)


@pytest.fixture
def hooks(tmp_path: Path) -> FlaskClient:
    return client_of_hooks(tmp_path)


@pytest.fixture
def admission() -> FlaskClient:
    return create_app(ADMISSION, Settings(ADMISSION)).test_client()


def body() -> bytes:
    return json.dumps({"parent": manifest("WorkloadRun", "run", spec={}), "children": {}}).encode()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no token"),
        pytest.param({"Authorization": "Bearer"}, id="an empty token"),
        pytest.param({"Authorization": f"Bearer {TOKEN[:-1]}"}, id="a token cut short"),
        pytest.param({"Authorization": f"Bearer {TOKEN}x"}, id="a token and more"),
        pytest.param({"Authorization": f"Basic {TOKEN}"}, id="another scheme"),
        pytest.param({"X-Authorization": f"Bearer {TOKEN}"}, id="another header"),
        pytest.param({"Cookie": f"Authorization=Bearer {TOKEN}"}, id="a cookie"),
        pytest.param({"X-Remote-User": "system:admin", "X-Forwarded-User": "system:admin"}, id="a proxy's headers"),
    ],
)
def test_without_the_token_no_hook_answers(hooks: FlaskClient, headers: dict[str, str]) -> None:
    response = hooks.post(SYNC, data=body(), headers=headers)
    assert response.status_code == 401
    assert TOKEN not in response.text


def test_a_token_in_the_path_is_no_token(hooks: FlaskClient) -> None:
    assert hooks.post(f"{SYNC}?access_token={TOKEN}", data=body()).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/hooks/cre-workloadruns/../cre-jobs/finalize",
        "/hooks/cre-workloadruns/sync/",
        "/hooks/cre-workloadruns/sync%00",
        "/hooks//sync",
        "/hooks/cre-jobs/finalize",
        "/validate",
        "/mutate",
        "/metrics",
        "/static/app.py",
        "/",
    ],
)
def test_the_hooks_role_answers_its_hooks_and_nothing_else(hooks: FlaskClient, path: str) -> None:
    response = hooks.post(path, data=body(), headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code in (400, 404), response.text


@pytest.mark.parametrize("path", [SYNC, "/metrics", "/validate/../hooks/cre-jobs/sync", "/static/app.py", "/"])
def test_the_admission_role_has_no_hooks(admission: FlaskClient, path: str) -> None:
    assert admission.post(path, data=body(), headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"])
@pytest.mark.parametrize("trick", [{}, {"X-HTTP-Method-Override": "POST"}], ids=["plain", "override"])
def test_other_methods_are_not_taken_for_a_call(
    admission: FlaskClient, hooks: FlaskClient, method: str, trick: dict[str, str]
) -> None:
    token = {"Authorization": f"Bearer {TOKEN}"}
    for headers in ({**token, **trick}, trick):
        answer = hooks.open(SYNC, method=method, headers=headers, data=body())
        assert answer.status_code == 405
        assert answer.json == {"error": {"message": "The method is not allowed for the requested URL."}}
    answer = admission.open("/validate", method=method, headers=trick, data=review(GOOD))
    assert answer.status_code == 405
    assert answer.json is not None
    assert answer.json["response"]["allowed"] is False


def test_a_caller_that_trusts_another_authority_sends_nothing(server: Server) -> None:
    stranger = make_authority(datetime.now(UTC)).certificate.decode()
    context = ssl.create_default_context(cadata=stranger)
    connection = server.connect()
    connection._context = context  # type: ignore[attr-defined]
    with pytest.raises(ssl.SSLCertVerificationError):
        connection.request("POST", "/validate", review(GOOD))


def test_a_certificate_is_good_for_its_names_only(server: Server) -> None:
    connection = server.connect()
    connection.host = "127.0.0.2"  # the same server by a name that is not in its certificate
    with pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.2"):
        connection.request("POST", "/validate", review(GOOD))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1], ids=["1.0", "1.1"])
def test_old_versions_of_tls_are_not_spoken(server: Server, version: ssl.TLSVersion) -> None:
    context = server.context()
    context.set_ciphers("ALL:@SECLEVEL=0")  # else this side refuses by itself, and the test says nothing
    with warnings.catch_warnings(action="ignore"):  # Python's own, against what is tried here
        context.minimum_version = version
        context.maximum_version = version
    connection = server.connect()
    connection._context = context  # type: ignore[attr-defined]
    with pytest.raises(ssl.SSLError, match=r"PROTOCOL_VERSION|protocol version|UNSUPPORTED_PROTOCOL"):
        connection.request("POST", "/validate", review(GOOD))


def smuggled(head: bytes) -> bytes:
    return head + b"Host: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(
            smuggled(b"POST /validate HTTP/1.1\r\n") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="both a length and chunks",
        ),
        pytest.param(smuggled(b"POST /validate HTTP/1.1\r\n") + b"Content-Length: 6\r\n\r\nhello!", id="two lengths"),
        pytest.param(
            smuggled(b"POST /validate HTTP/1.1\r\n") + b"X-A\r\n : b\r\n\r\nhello", id="a folded header without a name"
        ),
        pytest.param(b"POST /" + b"a" * 4096 + b" HTTP/1.1\r\n\r\n", id="an endless path"),
        pytest.param(
            b"POST /validate HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(100)) + b"\r\n",
            id="a hundred headers",
        ),
        pytest.param(b"POST /validate HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", id="an endless header"),
    ],
)
def test_requests_that_two_readers_could_read_differently_are_refused(server: Server, request_: bytes) -> None:
    connection = server.connect()
    connection.connect()
    connection.sock.sendall(request_)
    answered = b"".join(iter(lambda: connection.sock.recv(4096), b""))  # until the server hangs up
    assert answered.startswith(b"HTTP/1.1 4"), answered[:200]
    assert answered.count(b"HTTP/1.1 ") == 1
    connection.close()
    assert server.review(GOOD)["allowed"]
