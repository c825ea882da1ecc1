"""The connection under the hooks' reads, against a server that says exactly what a test wants it to say."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from webhook.wire import Wire

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"TRANSFER-ENCODING: chunked\r\n\r\n"
SILENCE = b""
ONE = OK + b"Content-Length: 3\r\n\r\none"
TWO = OK + b"Content-Length: 3\r\n\r\ntwo"
SECONDS = 10.0


class Script:
    """Serves connections one by one; each says its answers in turn, one a request, and is then closed.

    In place of an answer `SILENCE` says nothing until the client has gone.
    """

    def __init__(self, connections: Sequence[Sequence[bytes]]) -> None:
        self.requests: list[list[bytes]] = []
        self._connections = connections
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listening.close()
        self._thread.join(SECONDS)

    def _serve(self) -> None:
        for answers in self._connections:
            client, _ = self._listening.accept()
            with client:
                asked: list[bytes] = []
                self.requests.append(asked)
                for answer in answers:
                    asked.append(client.recv(1 << 16))
                    if answer is SILENCE:
                        client.recv(1)
                    client.sendall(answer)


@contextmanager
def scripted(*connections: Sequence[bytes], path: str = "") -> Iterator[tuple[Wire, Script]]:
    script = Script(connections)
    configuration: Any = SimpleNamespace(host=f"http://127.0.0.1:{script.port}{path}", tls_server_name=None)
    try:
        yield Wire(configuration), script
    finally:
        script.close()


def get(wire: Wire, url: str = "/x", seconds: float = SECONDS) -> tuple[int, bytes]:
    return wire.get(url, {"Accept": "application/json"}, SECONDS, seconds)


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        pytest.param(ONE, 200, b"one", id="length"),
        pytest.param(CHUNKED + b"3\r\none\r\n2;x=y\r\n..\r\n0\r\n\r\n", 200, b"one..", id="chunks"),
        pytest.param(CHUNKED + b"0\r\nTrailer: x\r\n\r\n", 200, b"", id="trailers"),
        pytest.param(OK + b"Connection: close\r\n\r\nall there is", 200, b"all there is", id="until the end"),
        pytest.param(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}", 404, b"{}", id="a refusal is an answer"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", id="nothing"),
    ],
)  # fmt: skip
def test_an_answer_is_read_to_its_end(answer: bytes, status: int, body: bytes) -> None:
    with scripted([answer]) as (wire, _):
        assert get(wire) == (status, body)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK, id="no headers"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", id="another protocol"),
        pytest.param(OK + b"Content-Length: 30\r\n\r\nshort", id="short of its length"),
        pytest.param(CHUNKED + b"30\r\nshort", id="short of a chunk"),
        pytest.param(CHUNKED + b"zz\r\n", id="no size"),
        pytest.param(CHUNKED + b"-1\r\n", id="a size below nothing"),
        pytest.param(CHUNKED + b"FFFFFFFFFFFFFFF\r\n", id="a chunk beyond all room"),
        pytest.param(OK + b"Content-Length: 99999999999999\r\n\r\n", id="a length beyond all room"),
        pytest.param(OK + b"no header\r\n\r\n", id="no header"),
    ],
)
def test_what_is_no_whole_answer_is_an_error_and_never_half_of_one(answer: bytes) -> None:
    with scripted([answer]) as (wire, _), pytest.raises(OSError):  # noqa: PT011 - the texts are the system's, too
        get(wire)


def test_a_connection_is_used_again_with_the_prefix_of_the_server_before_each_path() -> None:
    with scripted([ONE, TWO], path="/k8s/clusters/c-1/") as (wire, script):
        assert (get(wire, "/a"), get(wire, "/b?c=d")) == ((200, b"one"), (200, b"two"))
    [requests] = script.requests
    assert [request.split(b" ")[1] for request in requests] == [b"/k8s/clusters/c-1/a", b"/k8s/clusters/c-1/b?c=d"]
    assert requests[0].split(b"\r\n")[1] == f"Host: 127.0.0.1:{script.port}".encode()
    assert requests[0].endswith(b"Accept: application/json\r\n\r\n")


def test_a_body_is_sent_with_its_length_and_its_answer_read() -> None:
    with scripted([ONE, TWO]) as (wire, script):
        assert wire.post("/x", {"Content-Type": "application/json"}, b'{"a":1}', SECONDS, SECONDS) == (200, b"one")
        assert get(wire) == (200, b"two")
    [[request, _]] = script.requests
    assert request.startswith(b"POST /x HTTP/1.1\r\n")
    assert request.endswith(b'\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}')


def test_a_connection_that_the_server_ended_while_it_was_idle_is_replaced_in_silence() -> None:
    with scripted([ONE], [TWO]) as (wire, _):
        assert (get(wire), get(wire)) == ((200, b"one"), (200, b"two"))


def test_a_connection_that_broke_in_an_answer_is_not_used_again() -> None:
    with scripted([OK + b"Content-Length: 9\r\n\r\nhalf"], [ONE]) as (wire, _):
        with pytest.raises(OSError, match="early"):
            get(wire)
        assert get(wire) == (200, b"one")


def test_a_silent_server_is_given_up() -> None:
    with scripted([SILENCE]) as (wire, _), pytest.raises(TimeoutError):
        get(wire, seconds=0.05)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK + b"Content-Length: 100\r\n\r\n" + b"x" * 100, id="its body"),
        pytest.param(OK + b"X-Long: " + b"x" * 60 + b"\r\nContent-Length: 0\r\n\r\n", id="its headers"),
        pytest.param(CHUNKED + b"1\r\nx\r\n" * 20 + b"0\r\n\r\n", id="its chunks"),
    ],
)
def test_a_server_that_trickles_an_answer_is_given_up_although_it_is_never_silent(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        told = threads.submit(_trickle, listening, answer)
        configuration: Any = SimpleNamespace(
            host=f"http://127.0.0.1:{listening.getsockname()[1]}", tls_server_name=None
        )
        with pytest.raises(TimeoutError):
            get(Wire(configuration), seconds=0.2)
        assert told.result(SECONDS) < len(answer)


def _trickle(listening: socket.socket, answer: bytes) -> int:
    """Say an answer byte by byte, and return how many the client has waited for."""
    client, _ = listening.accept()
    client.settimeout(0.02)
    with client:
        client.recv(1 << 16)
        for said, byte in enumerate(answer):
            try:
                client.sendall(bytes([byte]))
                if not client.recv(1):
                    return said
            except TimeoutError:
                continue
            except ConnectionError:
                return said
    return len(answer)


def test_time_that_one_answer_took_is_not_the_next_ones() -> None:
    with scripted([ONE, TWO]) as (wire, _):
        assert get(wire, seconds=0.5) == (200, b"one")
        time.sleep(0.6)
        assert get(wire, seconds=0.5) == (200, b"two")


def test_nobody_there_is_an_error() -> None:
    with scripted() as (wire, script):
        script.close()
        with pytest.raises(OSError, match="refused"):
            get(wire)


def test_when_one_idle_connection_has_gone_dead_the_others_are_not_waited_for_one_by_one() -> None:
    with deaf_after_one_answer() as wire:
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(lambda _: get(wire), range(4))) == [(200, b"one")] * 4
        with pytest.raises(TimeoutError):
            get(wire, seconds=0.2)
        assert get(wire, seconds=2) == (200, b"one")


@contextmanager
def deaf_after_one_answer() -> Iterator[Wire]:
    """Serve connections that answer once, the first four together, and hear nothing from then on."""
    together, done, listening = threading.Barrier(4), threading.Event(), socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket, *, first: bool) -> None:
        with client:
            client.recv(1 << 16)
            if first:
                together.wait(SECONDS)
            client.sendall(ONE)
            done.wait(SECONDS)

    def accept() -> None:
        for number in range(5):
            client, _ = listening.accept()
            threading.Thread(target=serve, args=(client,), kwargs={"first": number < 4}, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        yield Wire(SimpleNamespace(host=address, tls_server_name=None))
    finally:
        done.set()
        listening.close()
