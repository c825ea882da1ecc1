"""Room for pages of logs: all calls together hold no more than the budget, and what a call took comes back."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sync_hooks.api.observed import Log
from sync_hooks.api.sync import ListNodes, Read, ReadLog, Unreadable
from webhook.body import Budget
from webhook.limits import LOGS_BYTES, THREADS
from webhook.logs import TIMES_HELD, with_room

WANTED = ReadLog("team", "pod", "node", limit_bytes=100)
ROOM = TIMES_HELD * WANTED.limit_bytes


def full_page(_: Read) -> Log:
    return Log(content=b"x" * WANTED.limit_bytes, truncated=True)


def test_a_page_that_there_is_no_room_for_is_unreadable_until_another_call_has_ended() -> None:
    budget = Budget(ROOM)
    with with_room(full_page, budget, 0) as first, with_room(full_page, budget, 0) as second:
        assert isinstance(first(WANTED), Log)
        assert isinstance(second(WANTED), Unreadable)
    with with_room(full_page, budget, 0) as third:
        assert isinstance(third(WANTED), Log)


def test_a_page_takes_the_room_of_what_was_in_it() -> None:
    budget = Budget(ROOM)
    with with_room(lambda _: Log(content=b"", truncated=False), budget, 0) as read:
        assert all(isinstance(read(WANTED), Log) for _ in range(9))


def test_what_is_no_log_needs_no_room() -> None:
    with with_room(lambda _: (), Budget(0), 0) as read:
        assert read(ListNodes()) == ()


@pytest.mark.parametrize("found", [RuntimeError("ours"), Unreadable("gone")], ids=["raised", "unreadable"])
def test_a_read_that_fails_gives_its_room_back(found: Exception | Unreadable) -> None:
    def failing(_: Read) -> Unreadable:
        if isinstance(found, Exception):
            raise found
        return found

    budget = Budget(ROOM)
    try:
        with with_room(failing, budget, 0) as read:
            assert read(WANTED) == found
    except RuntimeError as error:
        assert error is found  # noqa: PT017 - only one of the two rows raises
    assert budget.take(ROOM)


def test_a_call_waits_for_the_room_that_another_is_about_to_leave() -> None:
    budget, reads = Budget(ROOM), threading.Event()

    def second() -> object:
        with with_room(full_page, budget, 60) as read:
            reads.set()
            return read(WANTED)

    with ThreadPoolExecutor(1) as threads:
        with with_room(full_page, budget) as first:
            first(WANTED)
            found = threads.submit(second)
            reads.wait(10)
        assert isinstance(found.result(), Log)


def test_as_many_threads_as_there_are_hold_no_more_than_the_budget() -> None:
    most = Budget(LOGS_BYTES)
    taken = sum(most.take(TIMES_HELD * ReadLog("team", "pod", "node").limit_bytes) for _ in range(THREADS))
    assert 2 <= taken < THREADS  # two are the most that one call reads


def test_the_largest_pages_of_one_call_fit_alone() -> None:
    from sync_hooks.api.logcursor import LogCursor
    from sync_hooks.measurements.page import page_bytes

    largest = page_bytes(LogCursor(page_doublings=99))
    assert 2 * TIMES_HELD * largest <= LOGS_BYTES  # of the first and of the last worker
