"""One worker after the other under the same server: nobody who calls in between is refused or told a wrong thing."""

from __future__ import annotations

import os
import signal
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.authority import issue
from tests.webhook.serving import GOOD, NAMES, Server, start, stop
from webhook.succession import Succession

SUCCESSION_SECONDS = 30.0


@dataclass
class Load:
    """Callers who call again and again: what they were answered, and what went wrong."""

    answers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, *calls: Callable[[], str]) -> Iterator[None]:
        done = threading.Event()
        callers = [threading.Thread(target=self._call, args=(call, done)) for call in calls]
        for caller in callers:
            caller.start()
        try:
            yield
        finally:
            done.set()
            for caller in callers:
                caller.join()

    def _call(self, call: Callable[[], str], done: threading.Event) -> None:
        while not done.is_set():
            try:
                self.answers[call()] += 1
            except Exception as error:
                self.failures.append(repr(error))
            time.sleep(0.02)


def reviews(server: Server) -> Callable[[], str]:
    """Return a call that opens a connection for each review."""
    return lambda: f"allowed: {server.review(GOOD)['allowed']}"


def reviews_of_one_connection(server: Server) -> Callable[[], str]:
    """Return a call on a connection that is kept for as long as the server keeps it."""
    connection = server.connect()  # which opens itself again where the answer before said that it ends

    return lambda: f"kept, allowed: {server.review(GOOD, connection)['allowed']}"


def probes(server: Server, path: str) -> Callable[[], str]:
    return lambda: f"{path}: {server.health(path)[0]}"


def wait_for_another(server: Server, before: int) -> None:
    end = time.monotonic() + SUCCESSION_SECONDS
    while before in server.workers():
        assert time.monotonic() < end, server.log.read_text()
        time.sleep(0.05)


@pytest.mark.parametrize("options", [pytest.param((), id="loaded by each"), pytest.param(("--preload",), id="preload")])
def test_after_sighup_no_request_no_probe_and_no_scrape_goes_without_its_answer(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    server, load = start(tmp_path, options=options), Load()
    paths = ("/healthz", "/readyz", "/metrics")
    calls = [reviews(server), reviews(server), reviews_of_one_connection(server), *(probes(server, p) for p in paths)]
    try:
        with load.of(*calls):
            for _ in range(2):
                time.sleep(0.5)
                before = server.worker()
                server.process.send_signal(signal.SIGHUP)
                wait_for_another(server, before)
            time.sleep(0.5)
        assert load.failures == []
        kinds = ("allowed: True", "kept, allowed: True", *(f"{path}: 200" for path in paths))
        assert set(load.answers) == set(kinds)
        assert min(load.answers.values()) > 20
    finally:
        stop(server)
    assert server.process.returncode == 0


def test_after_sighup_a_renewed_certificate_is_shown_at_the_next_handshake(tmp_path: Path) -> None:
    server = start(tmp_path)
    try:
        before = server.worker()
        server.process.send_signal(signal.SIGHUP)
        wait_for_another(server, before)
        renewed = issue(server.authority, NAMES, datetime.now(UTC))
        server.serve(renewed)
        with server.call() as caller:
            assert caller.getpeercert(binary_form=True) == ssl.PEM_cert_to_DER_cert(renewed.certificate.decode())
    finally:
        stop(server)


def test_a_worker_that_hangs_keeps_nobody_from_its_successor(tmp_path: Path) -> None:
    server, load = start(tmp_path), Load()
    hanging = server.worker()
    try:
        os.kill(hanging, signal.SIGSTOP)
        server.process.send_signal(signal.SIGHUP)
        with load.of(reviews(server), probes(server, "/readyz")):
            time.sleep(4)
        assert set(load.answers) == {"allowed: True", "/readyz: 200"}
        assert load.failures == []
    finally:
        os.kill(hanging, signal.SIGCONT)
        wait_for_another(server, hanging)
        stop(server)


def test_a_worker_that_was_killed_is_followed_by_one_that_answers(tmp_path: Path) -> None:
    server = start(tmp_path)
    try:
        killed = server.worker()
        os.kill(killed, signal.SIGKILL)
        wait_for_another(server, killed)
        assert server.review(GOOD)["allowed"]
        assert server.health("/readyz") == (200, "ready\n")
    finally:
        stop(server)


def test_sigterm_right_after_sighup_ends_the_server_in_time(tmp_path: Path) -> None:
    server = start(tmp_path)
    server.process.send_signal(signal.SIGHUP)
    server.process.send_signal(signal.SIGTERM)
    try:
        assert server.process.wait(25) == 0
    finally:
        stop(server)


def test_signals_that_ask_for_another_worker_or_server_change_nothing(tmp_path: Path) -> None:
    server = start(tmp_path)
    try:
        before = server.worker()
        for number in (signal.SIGTTIN, signal.SIGUSR2, signal.SIGTTOU):
            server.process.send_signal(number)
        time.sleep(1.5)  # the first process looks for signals once a second
        assert server.worker() == before
        assert server.review(GOOD)["allowed"]
    finally:
        stop(server)
    assert server.process.returncode == 0


def test_a_worker_is_followed_only_by_a_later_one_and_waits_no_longer_than_it_may() -> None:
    succession = Succession()
    succession.begin(1)
    succession.take_over(1)
    assert not succession.is_followed(1)
    succession.begin(2)
    assert succession.is_followed(1)
    began = time.monotonic()
    succession.wait_for_successor(1, 0.2)
    assert 0.2 <= time.monotonic() - began < 2
    succession.take_over(2)
    succession.wait_for_successor(1, 3600)
