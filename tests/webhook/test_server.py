"""The real server, gunicorn with TLS on loopback: it answers, outlives bad callers, renews its certificate, ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.authority import issue
from tests.sync_hooks.admission.cases import manifest
from tests.webhook.serving import BAD, GOOD, NAMES, ROOT, Server, review, start, stop
from webhook.tls import HEAD_SECONDS


def test_it_answers_over_tls(server: Server) -> None:
    assert server.review(GOOD) == {"uid": "705ab4f5", "allowed": True}
    assert server.review(BAD)["status"]["details"]["causes"][0]["field"] == "spec.image"


def test_a_connection_is_kept_for_further_requests(server: Server) -> None:
    connection = server.connect()
    for _ in range(3):
        assert server.review(GOOD, connection)["allowed"]
        assert connection.sock is not None
    connection.close()


@pytest.mark.parametrize("headers", [{}, {"Connection": "close"}], ids=["kept", "closed"])
def test_an_answer_without_a_body_comes_too(server: Server, headers: dict[str, str]) -> None:
    connection = server.connect()
    connection.request("HEAD", "/validate", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 405
    assert answer.read() == b""
    connection.close()


def test_requests_that_are_sent_at_once_are_answered_one_by_one(server: Server) -> None:
    body = review(GOOD)
    head = (
        f"POST /validate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    with server.context().wrap_socket(plain, server_hostname="localhost") as sock:
        sock.sendall(3 * (head.encode() + body))
        seen = b""
        while seen.count(b'"allowed":true') < 3:
            seen += (received := sock.recv(1 << 16))
            assert received


def test_heads_that_came_before_are_read_with_their_own_lengths_and_paths(server: Server) -> None:
    connection = server.connect()
    for number in (1, 200, 3, 200):
        bad = review(manifest("WorkloadRun", {"image": "", "framework": {"exec": {"command": number * ["true"]}}}))
        for path, body in (("/validate", review(GOOD)), ("/mutate", bad), ("/validate", bad)):
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())["response"]
            assert (answer["uid"], answer["allowed"]) == ("705ab4f5", body != bad)
    connection.close()


def test_health_readiness_and_metrics_have_a_port_of_their_own(server: Server) -> None:
    server.review(BAD)
    assert server.health("/healthz") == (200, "ok\n")
    assert server.health("/readyz") == (200, "ready\n")
    status, metrics = server.health("/metrics")
    assert status == 200
    assert 'answer="refused",kind="WorkloadRun",operation="CREATE",webhook="validate"' in metrics
    assert server.health("/validate")[0] == 404
    connection = server.connect()
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 404
    connection.close()


def test_nine_megabytes_are_refused_to_a_caller_that_sends_them_all(server: Server) -> None:
    connection = server.connect()
    connection.request("POST", "/validate", b"x" * (9 << 20), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Content-Type"]) == (413, "application/json")
    assert json.loads(answer.read())["response"]["allowed"] is False
    connection.close()
    assert server.review(GOOD)["allowed"]


def test_bodies_without_a_length_are_bounded_too(server: Server) -> None:
    connection = server.connect()
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    chunks = (b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20)) for _ in range(9))
    connection.putrequest("POST", "/validate")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    for chunk in chunks:
        connection.send(chunk)
    connection.send(b"0\r\n\r\n")
    answer = connection.getresponse()
    assert answer.status == 413, answer.read()
    connection.close()
    assert server.review(GOOD)["allowed"]


def test_callers_that_send_nothing_hold_up_nobody(server: Server) -> None:
    with ExitStack() as silent:
        many = range(128)  # twice as many as there are threads
        callers = [silent.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in many]
        assert server.review(GOOD)["allowed"]
        assert all(waits(caller) for caller in callers)  # the answer did not wait until they were let go


def waits(caller: socket.socket) -> bool:
    """Tell whether the server still holds a connection open."""
    caller.setblocking(False)
    try:
        return caller.recv(1) != b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except ConnectionResetError:
        return False


def send_slowly(connection: http.client.HTTPSConnection, letters: int) -> int:
    """Send a request's first line letter by letter, ten a second, and return how many the server took."""
    for sent in range(letters):
        try:
            connection.sock.sendall(b"X")
        except OSError:
            return sent
        time.sleep(0.1)
    return letters


def test_a_caller_that_sends_slowly_is_let_go_in_time(server: Server) -> None:
    connection = server.connect()
    connection.connect()
    letters = int(20 * HEAD_SECONDS)  # for twice the time that a head has
    assert send_slowly(connection, letters) < letters
    connection.close()
    assert server.review(GOOD)["allowed"]


def test_a_caller_that_does_not_speak_tls_is_let_go(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
        plain.sendall(b"POST /validate HTTP/1.1\r\n\r\n")
        with suppress(ConnectionResetError):
            while plain.recv(4096):
                pass
    assert server.review(GOOD)["allowed"]


def served_certificate(server: Server) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", server.port)) as plain,
        server.context().wrap_socket(plain, server_hostname="localhost") as wrapped,
    ):
        return wrapped.getpeercert(binary_form=True) or b""


def test_the_next_handshake_shows_a_renewed_certificate(server: Server) -> None:
    open_before = server.connect()
    assert server.review(GOOD, open_before)["allowed"]
    for _ in range(2):
        renewed = issue(server.authority, NAMES, datetime.now(UTC))
        server.serve(renewed)
        assert served_certificate(server) == ssl.PEM_cert_to_DER_cert(renewed.certificate.decode())
    assert server.review(GOOD, open_before)["allowed"]
    open_before.close()


def test_half_a_new_pair_leaves_the_old_one_in_use(server: Server) -> None:
    before = served_certificate(server)
    other = issue(server.authority, NAMES, datetime.now(UTC))
    (server.tls / "tls.crt").write_bytes(other.certificate)
    assert served_certificate(server) == before
    (server.tls / "tls.key").write_bytes(other.key)
    assert served_certificate(server) == ssl.PEM_cert_to_DER_cert(other.certificate.decode())


def test_after_sigterm_it_is_unready_answers_on_and_ends_in_time(tmp_path: Path) -> None:
    server = start(tmp_path)
    answers: list[bool] = []
    failures: list[Exception] = []
    done = threading.Event()

    def call() -> None:
        while not done.is_set():
            try:
                answers.append(server.review(GOOD)["allowed"])
            except Exception as error:
                failures.append(error)
            time.sleep(0.02)

    caller = threading.Thread(target=call)
    caller.start()
    try:
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        while server.health("/readyz")[0] == 200:
            time.sleep(0.05)
        answered = len(answers)
        time.sleep(1.5)  # a caller that has not noticed yet
        assert len(answers) > answered
        done.set()
        caller.join()
        assert server.process.wait(30) == 0
        assert failures == []
        assert all(answers)
    finally:
        done.set()
        caller.join()
        stop(server)


def test_a_server_without_settings_says_which_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gunicorn", "-c", "python:webhook.gunicorn_conf"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "WORKLOADRUN_ROLE": "admission"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stderr.splitlines() == [
        "error: WORKLOADRUN_TLS_DIR is not set: it names the folder with tls.crt and tls.key"
    ]
