"""The real server among callers that are slow, silent, broken or greedy: others do not notice them."""

from __future__ import annotations

import re
import signal
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml

from sync_hooks.planning.room import MOST_SYNC_BYTES
from tests.webhook.serving import GOOD, ROOT, Server, answer, chunked, post, review, start, stop
from tests.webhook.test_server import waits
from webhook.limits import (
    FEWEST_CONNECTIONS,
    MOST_BYTES,
    OTHER_FILES,
    SMALL_BYTES,
    THREADS,
    UNDER_WAY_BYTES,
)
from webhook.settings import ADMISSION, HOOKS
from webhook.tls import HEAD_SECONDS, MOST_SLOW, REQUEST_SECONDS, Pressure

LARGE = MOST_BYTES[ADMISSION]


def is_answered_at_once(server: Server) -> bool:
    """Tell whether a review takes less than the time for which a slow caller is waited for."""
    began = time.monotonic()
    return bool(server.review(GOOD)["allowed"]) and time.monotonic() - began < REQUEST_SECONDS / 2


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", id="an old version"),
        pytest.param(b"nonsense\r\n\r\n", id="no HTTP"),
        pytest.param(post(review(GOOD), "Connection: close"), id="a last request"),
        pytest.param(chunked(b"no number\r\n"), id="a bad chunk"),
    ],
)
def test_callers_that_are_answered_and_do_not_hang_up_hold_up_nobody(server: Server, sent: bytes) -> None:
    with ExitStack() as callers:
        for _ in range(3):
            caller = callers.enter_context(server.call())
            caller.sendall(sent)
            assert caller.recv(1 << 16).startswith(b"HTTP/1.")
        assert is_answered_at_once(server)


def test_callers_that_shake_hands_and_say_nothing_hold_up_nobody(server: Server) -> None:
    with ExitStack() as silent:
        callers = [silent.enter_context(server.call()) for _ in range(THREADS + 16)]
        assert server.review(GOOD)["allowed"]
        assert all(waits(caller) for caller in callers)  # the answer did not wait until they were let go
        callers[0].settimeout(20)
        callers[0].sendall(post(review(GOOD)))
        assert answer(callers[0])[0] == 200


def test_a_request_that_came_in_one_record_with_another_is_answered(server: Server) -> None:
    """gunicorn takes 8192 bytes off a connection; what TLS has decrypted beyond them no poll ever shows."""
    body = review(GOOD)
    first = post(body + (8192 - len(post(body, length=8000))) * b" ")
    assert len(first) == 8192
    with server.call() as caller:
        caller.sendall(first + post(body))
        assert [answer(caller)[0] for _ in range(2)] == [200, 200]


def test_a_caller_that_announces_too_much_and_waits_is_told(server: Server) -> None:
    with server.call() as caller:
        began = time.monotonic()
        caller.sendall(post(b"", length=LARGE + 1))
        status, said, headers = answer(caller)
        assert (status, said["response"]["allowed"]) == (413, False)
        assert headers["Connection"] == "close"
        assert time.monotonic() - began < REQUEST_SECONDS


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no number\r\n", id="a chunk without a length"),
        pytest.param(b"3\r\nabcXY", id="a chunk without an end"),
        pytest.param(b"3\r\nabc\r\n0\r\nContent-Length: 3\r\n\r\n", id="a length behind the body"),
    ],
)
def test_a_malformed_body_is_refused_as_a_review(server: Server, path: str, content: bytes) -> None:
    with server.call() as caller:
        caller.sendall(chunked(content, path))
        status, said, headers = answer(caller)
        assert (status, said["kind"], said["response"]["allowed"]) == (400, "AdmissionReview", False)
        assert headers["Connection"] == "close"  # where the next request would begin nobody knows


def test_a_body_that_comes_slowly_is_refused_in_time(server: Server) -> None:
    with server.call() as caller:
        caller.sendall(post(b"{", length=1000))
        caller.settimeout(0.3)
        seen = b""
        for _ in range(int(10 * REQUEST_SECONDS)):
            with suppress(TimeoutError):
                seen = caller.recv(1 << 16)
                break
            caller.sendall(b" ")
        assert seen.startswith(b"HTTP/1.1 408 ")


def hang_up(caller: socket.socket) -> None:
    """End a connection without a word, as a caller does that is killed."""
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    caller.close()


def test_strangers_do_not_fill_the_log(server: Server) -> None:
    request = post(review(GOOD))
    with ExitStack() as callers:
        for sent in (request[:1], request[:40]):
            callers.enter_context(server.call()).sendall(sent)
        for sent in (b"\x16", b"GET / HTTP/1.1\r\n\r\n"):
            plain = callers.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            plain.sendall(sent)
        for cut in (0, 40, len(request) - 20, len(request)):
            caller = server.call()
            caller.sendall(request[:cut])
            hang_up(caller)
        time.sleep(HEAD_SECONDS + 1)
    assert server.review(GOOD)["allowed"]
    assert "Traceback" not in server.log.read_text()


def memory(process: int) -> int:
    """Return the most bytes that a process has had in memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) << 10


def limit(role: str) -> int:
    """Return the bytes of memory that the chart gives to a role."""
    values = yaml.safe_load((ROOT / "charts/workloadrun/values.yaml").read_text())
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", values[role]["resources"]["limits"]["memory"]).groups()  # type: ignore[union-attr]
    return int(number) << {"Mi": 20, "Gi": 30}[unit]


@pytest.mark.parametrize("role", [ADMISSION, HOOKS])
def test_bodies_under_way_leave_most_of_the_memory_to_the_program(role: str) -> None:
    assert UNDER_WAY_BYTES[role] + THREADS * SMALL_BYTES < limit(role) / 2


def test_there_is_room_for_several_of_the_largest_bodies_that_come() -> None:
    assert UNDER_WAY_BYTES[ADMISSION] >= 4 * MOST_BYTES[ADMISSION]
    assert UNDER_WAY_BYTES[HOOKS] >= 2 * MOST_SYNC_BYTES
    assert MOST_BYTES[HOOKS] >= 1.5 * MOST_SYNC_BYTES  # Jobs that are tried again stand beside the first


BODY = LARGE * b" "


@pytest.mark.parametrize(
    "request_",
    [pytest.param(post(BODY), id="announced"), pytest.param(chunked(b"%x\r\n%s" % (LARGE, BODY)), id="in chunks")],
)
def test_large_bodies_in_all_threads_fit_into_the_memory(server: Server, request_: bytes) -> None:
    with ExitStack() as callers:
        many = [callers.enter_context(server.call()) for _ in range(THREADS)]
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(all_but_the_end(request_), many))
        assert server.review(GOOD)["allowed"]  # a small body finds room
        assert memory(server.worker()) < limit(ADMISSION)
    while not is_read(server, post(BODY)):  # until the server has noticed that they have gone
        time.sleep(0.1)


def all_but_the_end(request_: bytes) -> Callable[[socket.socket], None]:
    """Make a sender of a request that never ends; whoever is refused sees the connection end."""

    def send(caller: socket.socket) -> None:
        with suppress(OSError):
            caller.sendall(memoryview(request_)[: -(1 << 10)])

    return send


def is_read(server: Server, request_: bytes) -> bool:
    """Tell whether there is room for a body; one of blanks is no review."""
    with server.call() as caller:
        caller.sendall(request_)
        status = answer(caller)[0]
        assert status in (400, 429)
        return status == 400


def test_a_server_without_files_for_more_callers_goes_on(tmp_path: Path) -> None:
    server = start(tmp_path, files=80)
    try:
        worker = server.worker()
        with ExitStack() as silent:
            for _ in range(120):
                silent.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            time.sleep(1.0)
        assert server.review(GOOD)["allowed"]
        assert server.worker() == worker
    finally:
        stop(server)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(
            lambda server: socket.create_connection(("127.0.0.1", server.port)), b"\x16\x03\x01", id="a handshake"
        ),
        pytest.param(lambda server: server.call(), b"POST /validate HT", id="a head"),
        pytest.param(lambda server: server.call(), post(review(GOOD))[:-20], id="a body"),
    ],
)
def test_many_callers_that_begin_and_stop_hold_threads_only_until_others_wait_for_them(
    server: Server, call: Callable[[Server], socket.socket], said: bytes
) -> None:
    with ExitStack() as held:
        callers = [held.enter_context(call(server)) for _ in range(4 * THREADS)]
        for caller in callers:
            caller.sendall(said)
        assert is_answered_at_once(server)


def test_a_few_slow_callers_may_hold_their_threads_although_others_wait() -> None:
    pressure, slow = Pressure(), [object() for _ in range(MOST_SLOW + 1)]
    assert all(pressure.spares(one) for one in slow)  # nobody waits
    pressure.watch([None])
    assert [pressure.spares(one) for one in slow] == [True] * MOST_SLOW + [False]
    assert pressure.spares(slow[0])
    pressure.forget(slow[0])
    assert pressure.spares(slow[-1])


def asks_once(server: Server) -> socket.socket:
    """Call, ask for what there is not, and keep the connection."""
    caller = server.call()
    caller.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert answer(caller)[0] == 404
    return caller


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda server: socket.create_connection(("127.0.0.1", server.port)), id="and say nothing"),
        pytest.param(lambda server: server.call(), id="and shake hands"),
        pytest.param(asks_once, id="and have asked once"),
    ],
)
def test_strangers_that_hold_all_connections_keep_nobody_out(
    tmp_path: Path, call: Callable[[Server], socket.socket]
) -> None:
    server = start(tmp_path, files=FEWEST_CONNECTIONS + OTHER_FILES)
    try:
        with ExitStack() as held:
            for _ in range(FEWEST_CONNECTIONS + 16):
                held.enter_context(call(server))
            for _ in range(3):
                assert is_answered_at_once(server)
            last = held.enter_context(server.call())
            last.sendall(post(review(GOOD)))
            assert answer(last)[0] == 200
    finally:
        stop(server)


def test_who_has_asked_is_kept_before_those_who_have_not(tmp_path: Path) -> None:
    server = start(tmp_path, files=FEWEST_CONNECTIONS + OTHER_FILES)
    try:
        with ExitStack() as held:
            kept = held.enter_context(asks_once(server))
            for _ in range(2 * FEWEST_CONNECTIONS):
                held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            assert is_answered_at_once(server)
            kept.sendall(post(review(GOOD)))
            assert answer(kept)[0] == 200
    finally:
        stop(server)


def test_callers_that_fail_to_shake_hands_do_not_end_the_drain_of_others(tmp_path: Path) -> None:
    server = start(tmp_path)
    try:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain, suppress(OSError):
                plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
                while plain.recv(4096):
                    pass
        with server.call() as caller:
            caller.sendall(post(review(GOOD)))
            assert answer(caller)[0] == 200
            server.process.send_signal(signal.SIGTERM)
            time.sleep(5.0)  # longer than the drain, and shorter than a connection is kept for what is on its way
            caller.sendall(post(review(GOOD)))
            assert answer(caller)[0] == 200
        assert server.process.wait(30) == 0
    finally:
        stop(server)
