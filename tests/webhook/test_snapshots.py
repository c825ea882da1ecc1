"""Snapshots: no older than was allowed, whoever asks while one is fetched; what nobody asks for is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from sync_hooks.api.sync import GetLogProfile, ListNodes, ListPods, Read, Unreadable
from webhook import snapshots as module
from webhook.apiserver import ApiError
from webhook.observer import OVER_TIME, Observer
from webhook.snapshots import KEPT_SECONDS, Snapshots


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
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    snapshots: Snapshots[str] = Snapshots()
    for number in range(100):
        snapshots.get(f"namespace-{number}", 10, lambda: "pods")
        now[0] += KEPT_SECONDS / 4
    assert len(snapshots) == 5


def test_a_key_whose_fetch_always_fails_is_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    snapshots: Snapshots[str] = Snapshots()
    for number in range(100):
        snapshots.get(f"namespace-{number}", 10, lambda: Unreadable("forbidden"))
        now[0] += KEPT_SECONDS / 4
    assert len(snapshots) == 5


class Api:
    """An API server whose answers wait for a word; counts the requests."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        self.answer = answer
        self.asked = 0
        self.began, self.go_on = threading.Event(), threading.Event()

    def get(self, *_: Any, **__: Any) -> bytes:
        self.asked += 1
        self.began.set()
        self.go_on.wait(10)
        return self.answer(self.asked)


def failing(_: int) -> bytes:
    raise ApiError(0, "timed out")


def test_all_who_asked_during_a_fetch_that_fails_share_its_failure_and_none_of_them_fetches_again() -> None:
    api = Api(failing)
    observer = Observer(api)  # type: ignore[arg-type]
    asking = threading.Barrier(21)

    def ask(number: int) -> Any:
        asking.wait()
        return observer.read(ListPods("ns", f"jobset-{number}"))

    with ThreadPoolExecutor(21) as threads:
        found = [threads.submit(observer.read, ListPods("ns", "first"))]
        api.began.wait(10)
        found += [threads.submit(ask, number) for number in range(20)]
        asking.wait()
        threading.Event().wait(0.2)  # until all of them wait for the fetch
        api.go_on.set()
        assert {one.result() for one in found} == {Unreadable("timed out")}
    assert api.asked == 1
    observer.read(ListPods("ns", "later"))
    assert api.asked == 2


@pytest.mark.parametrize("read", [ListPods("ns", "jobset"), ListNodes(), GetLogProfile("profile")], ids=str)
def test_who_waits_for_the_fetch_of_another_waits_no_longer_than_its_call_may_take(read: Read) -> None:
    api = Api(lambda _: b"{}")
    observer = Observer(api)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(observer.read, read)
        api.began.wait(10)
        assert observer.read(read, until=monotonic() + 0.05) == OVER_TIME
        api.go_on.set()
        assert not isinstance(first.result(), Unreadable)


@pytest.mark.parametrize("read", [ListPods("ns", "jobset"), ListPods("ns", "jobset", fresh=True), ListNodes()], ids=str)
def test_a_list_of_many_pages_ends_with_the_time_of_its_call_and_others_do_not_share_that(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def page(number: int) -> bytes:
        now[0] += 10
        return b'{"metadata":{"continue":"more"}}' if number < 6 else b"{}"

    monkeypatch.setattr("webhook.observer.monotonic", lambda: now[0])
    api = Api(page)
    api.go_on.set()
    observer = Observer(api)  # type: ignore[arg-type]
    assert observer.read(read, until=30) == OVER_TIME
    assert api.asked == 3
    assert not isinstance(observer.read(read, until=90), Unreadable)
