"""The port of health, in a process of its own: it answers probes, whatever strangers do, and costs little."""

from __future__ import annotations

import http.client
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.webhook.serving import ROOT, free_port
from webhook.health import MOST_CALLERS, SECONDS, listen
from webhook.metrics import CONTENT_TYPE

SERVING = """
import logging, sys
from webhook.health import Health, listen, serve
logging.basicConfig(level=logging.INFO)
health = Health()
door = serve(health, listen(int(sys.argv[1])))
for line in sys.stdin:
    if line == "leave\\n":
        door.leave()
    else:
        health.become_ready() if line == "ready\\n" else health.become_unready()
"""
FAMILIES = [pytest.param("127.0.0.1", id="IPv4"), pytest.param("::1", id="IPv6")]
PROBE_SECONDS = 2.0  # kubelet waits 5
CROWD = 200


@dataclass
class Port:
    """A process that serves nothing but health."""

    process: subprocess.Popen[str]
    number: int
    log: Path

    def ask(self, path: str, method: str = "GET", body: str | None = None) -> http.client.HTTPResponse:
        """Ask as kubelet does: a connection a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.number, timeout=PROBE_SECONDS)
        connection.request(method, path, body)
        return connection.getresponse()

    def call(self, said: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
        caller = socket.create_connection((address, self.number), timeout=2 * SECONDS)
        caller.sendall(said)
        return caller

    def say(self, said: bytes, address: str = "127.0.0.1") -> bytes:
        """Say something and return all that is answered."""
        with self.call(said, address) as caller:
            return b"".join(iter(lambda: caller.recv(1 << 16), b""))

    def tell(self, word: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    number, log = free_port(), tmp_path / "log"
    command = [sys.executable, "-c", SERVING, str(number)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=output, text=True)
    served = Port(process, number, log)
    with process:
        wait_until(lambda: answers(served), 30)
        yield served
        process.kill()
    assert log.read_text() == ""


def answers(port: Port) -> bool:
    try:
        return port.ask("/healthz").status == 200
    except OSError:
        return False


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("address", FAMILIES)
def test_every_family_is_answered(port: Port, address: str) -> None:
    if address == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    answer = port.say(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", address)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/plain; charset=utf-8",
        b"Content-Length: 3",
        b"Connection: close",
    ]
    assert body == b"ok\n"


def test_readiness_follows_what_the_process_says(port: Port) -> None:
    answer = port.ask("/readyz")
    assert (answer.status, answer.read()) == (503, b"not ready\n")
    port.tell("ready")
    wait_until(lambda: port.ask("/readyz").status == 200)
    assert b"workloadrun_ready 1.0" in port.ask("/metrics").read()
    port.tell("unready")
    wait_until(lambda: port.ask("/readyz").status == 503)


def test_metrics_have_their_content_type(port: Port) -> None:
    answer = port.ask("/metrics?name[]=up")
    assert (answer.status, answer.headers["Content-Type"]) == (200, CONTENT_TYPE)
    assert b"# TYPE workloadrun_ready gauge" in answer.read()


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        pytest.param("GET", "/healthz?verbose", 200, b"ok\n", id="a query"),
        pytest.param("GET", "/", 404, b"not found\n", id="an unknown path"),
        pytest.param("GET", "/healthz/", 404, b"not found\n", id="a path below"),
        pytest.param("POST", "/healthz", 405, b"method not allowed\n", id="another method"),
        pytest.param("HEAD", "/healthz", 405, b"", id="no body for a HEAD"),
    ],
)
def test_what_is_asked_for_is_answered(port: Port, method: str, path: str, status: int, body: bytes) -> None:
    answer = port.ask(path, method)
    assert (answer.status, answer.read()) == (status, body)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        pytest.param(b"\r\n\r\n", b"400", id="nothing"),
        pytest.param(b"GET /healthz\r\n\r\n", b"400", id="HTTP before it had versions"),
        pytest.param(b"\x16\x03\x01\x02\x00\xff\xfe\r\n\r\n", b"400", id="TLS"),
        pytest.param(b"GET /healthz HTTP/1.1\r\n" + 9000 * b"x", b"431", id="a head without an end"),
    ],
)
def test_what_is_no_request_is_told_so(port: Port, said: bytes, status: bytes) -> None:
    assert port.say(said).split(b" ")[1] == status


def test_who_sends_a_body_has_an_answer(port: Port) -> None:
    answer = port.ask("/healthz", "POST", 500_000 * "x")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")


def test_a_crowd_of_silent_callers_keeps_no_probe_from_its_answer(port: Port) -> None:
    threads = port.threads()
    with ExitStack() as crowd:
        for number in range(CROWD):
            crowd.enter_context(port.call(b"GET /hea" if number % 2 else b""))
            if number % 20 == 0:
                assert port.ask("/healthz").status == 200
        assert port.ask("/readyz").status == 503
        assert port.ask("/metrics").status == 200
        assert port.threads() == threads
        assert port.files() <= MOST_CALLERS + 16


def test_who_drips_is_let_go_and_keeps_no_probe_from_its_answer(port: Port) -> None:
    threads, stop = port.threads(), threading.Event()
    dripping = threading.Thread(target=drip, args=(port, stop))
    dripping.start()
    end = time.monotonic() + SECONDS + 1.0
    while time.monotonic() < end:
        assert port.ask("/healthz").status == 200
        assert port.threads() == threads
        assert port.files() <= MOST_CALLERS + 16
        time.sleep(0.05)
    stop.set()
    dripping.join()
    wait_until(lambda: port.files() < 16)


def drip(port: Port, stop: threading.Event) -> None:
    """Say a byte now and then on as many connections as make a crowd; come again where one is closed."""
    callers = [port.call(b"GET") for _ in range(CROWD)]
    while not stop.wait(0.2):
        for index, caller in enumerate(callers):
            try:
                caller.sendall(b"x")
            except OSError:
                caller.close()
                callers[index] = port.call(b"GET")
    for caller in callers:
        caller.close()


def test_a_caller_has_a_time_for_all_of_its_request(port: Port) -> None:
    begin = time.monotonic()
    with port.call(b"GET /") as caller, suppress(ConnectionError):
        while time.monotonic() < begin + 2 * SECONDS:  # each byte comes in good time
            caller.sendall(b"x")
            caller.settimeout(0.1)
            with suppress(TimeoutError):
                assert caller.recv(1) == b""
                break
    assert SECONDS - 0.1 < time.monotonic() - begin < SECONDS + 1


def test_who_sends_without_end_is_cut_off(port: Port) -> None:
    with port.call(b"POST / HTTP/1.1\r\n\r\n") as caller:
        with pytest.raises(ConnectionError):
            caller.sendall((1 << 26) * b"x")
        assert port.ask("/healthz").status == 200


@pytest.mark.parametrize("said", [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n"], ids=["silent", "half", "whole"])
def test_who_hangs_up_leaves_no_line(port: Port, said: bytes) -> None:
    for _ in range(20):
        caller = port.call(said)
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # without a farewell
        caller.close()
        port.call(said).close()
    assert port.ask("/healthz").status == 200
    wait_until(lambda: port.files() < 16)  # and the fixture looks into the log


def test_a_process_without_files_answers_again_when_it_has_some(port: Port) -> None:
    subprocess.run(["prlimit", f"--pid={port.process.pid}", f"--nofile={port.files() + 4}"], check=True)
    with ExitStack() as crowd:
        for _ in range(20):
            crowd.enter_context(port.call())
        assert port.ask("/healthz").status == 200  # in the place of one of the crowd
    assert port.ask("/healthz").status == 200


def test_a_port_that_is_taken_is_an_error_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        listen(taken.getsockname()[1])


def is_answered(port: Port) -> bool:
    with port.call(b"GET /healthz HTTP/1.1\r\n\r\n") as caller:
        caller.settimeout(0.2)
        try:
            return bool(caller.recv(1))
        except TimeoutError:
            return False


def test_who_is_in_when_the_door_is_left_is_answered_and_who_comes_then_waits_for_another(port: Port) -> None:
    with port.call(b"GET /healthz ") as early, port.call() as late:
        assert port.ask("/healthz").status == 200  # and early and late are in
        port.tell("leave")
        wait_until(lambda: not is_answered(port))
        with port.call(b"GET /healthz HTTP/1.1\r\n\r\n") as after:
            for caller, rest in ((early, b"HTTP/1.1\r\n\r\n"), (late, b"GET /healthz HTTP/1.1\r\n\r\n")):
                caller.sendall(rest)
                assert b"200" in caller.recv(1 << 16)
            after.settimeout(0.5)
            with pytest.raises(TimeoutError):
                after.recv(1)
