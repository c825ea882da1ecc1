"""Snapshots: no older than was allowed, whoever asks while one is fetched; what nobody asks for is forgotten."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from webhook import observer
from webhook.observer import KEPT_SECONDS, Snapshots


def test_who_asks_for_a_fresh_value_during_a_fetch_gets_one_that_was_fetched_afterwards() -> None:
    snapshots: Snapshots[int] = Snapshots()
    began, go_on, fetched = threading.Event(), threading.Event(), list[int]()

    def fetch() -> int:
        began.set()
        go_on.wait(10)
        fetched.append(len(fetched))
        return fetched[-1]

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(snapshots.get, "key", 0, fetch)
        began.wait(10)
        second = threads.submit(snapshots.get, "key", 0, fetch)
        go_on.set()
        assert (first.result(), second.result()) == (0, 1)


def test_who_allows_some_age_shares_the_fetch_of_another() -> None:
    snapshots: Snapshots[int] = Snapshots()
    values = iter(range(9))
    assert [snapshots.get("key", 60, lambda: next(values)) for _ in range(3)] == [0, 0, 0]
    assert snapshots.get("other", 60, lambda: next(values)) == 1


def test_what_nobody_asks_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(observer, "monotonic", lambda: now[0])
    snapshots: Snapshots[str] = Snapshots()
    for number in range(100):
        snapshots.get(f"namespace-{number}", 10, lambda: "pods")
        now[0] += KEPT_SECONDS / 4
    assert len(snapshots) == 5
