"""Waits begin once, are not moved by repeated syncs, and survive clocks that step back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sync_hooks.execution.ranges import read_ranges, write_ranges
from sync_hooks.execution.waiting import next_look, next_look_for_told, wait, wait_within, waited
from tests.support.hooks import NOW


def test_the_stamp_stays_while_the_reason_does():
    first = wait(None, "Nodes", "none yet", NOW)
    again = wait(first, "Nodes", "still none", NOW + timedelta(minutes=2))
    assert again.since == first.since
    assert waited(again, NOW + timedelta(minutes=2)) == 120


def test_another_reason_or_object_begins_anew():
    first = wait(None, "JobNotSeen", "", NOW, "Job/a")
    later = NOW + timedelta(seconds=50)
    assert waited(wait(first, "JobNotSeen", "", later, "Job/b"), later) == 0
    assert waited(wait(first, "Draining", "", later, "Job/a"), later) == 0


def test_a_stamp_from_the_future_is_set_again():
    future = wait(None, "Nodes", "", NOW + timedelta(hours=1))
    assert wait(future, "Nodes", "", NOW).since == "2026-01-01T12:00:00Z"


def test_looks_grow_from_two_seconds_to_sixty():
    first = wait(None, "Nodes", "", NOW)
    looks = [next_look(first, NOW + timedelta(seconds=age)) for age in (0, 20, 100, 1000)]
    assert looks == [2, 5, 25, 60]


def at(seconds: float):
    return NOW + timedelta(seconds=seconds)


def test_a_wait_is_over_only_after_a_second_look():
    waiting = wait_within(300, None, "Draining", "", NOW)
    late = wait_within(300, waiting, "Draining", "", at(301))
    assert late is not None
    assert wait_within(300, late, "Draining", "", at(320)) is not None
    assert wait_within(300, late, "Draining", "", at(332)) is None


def test_an_outage_or_a_clock_that_jumped_ends_no_wait():
    waiting = wait_within(300, None, "Draining", "", NOW)
    after = wait_within(300, waiting, "Draining", "", at(7200))
    assert after is not None
    assert waited(after, at(7200)) == 0


def test_a_clock_that_steps_back_begins_the_second_look_anew():
    late = wait_within(300, wait_within(300, None, "Draining", "", NOW), "Draining", "", at(301))
    back = wait_within(300, late, "Draining", "", at(-60))
    assert back is not None
    assert wait_within(300, back, "Draining", "", at(-31)) is not None


def test_the_second_look_comes_when_it_is_due():
    late = wait_within(300, wait_within(300, None, "Draining", "", NOW), "Draining", "", at(301))
    assert late is not None
    assert next_look(late, at(301)) == 30


def test_ranges_are_read_back_as_they_were_written():
    assert write_ranges([5, 1, 2, 3, 9]) == "1-3,5,9"
    assert read_ranges("1-3,5,9") == {1, 2, 3, 5, 9}
    assert read_ranges(None) == read_ranges("x,1-,-") == frozenset()


@pytest.mark.parametrize(
    ("age", "again"), [(0, 60), (250, 51), (299, 2)], ids=["its end is told", "the limit is near", "any moment"]
)
def test_what_is_told_is_not_asked_after(age: int, again: float) -> None:
    first = wait(None, "MeasurementPending", "", NOW)
    assert next_look_for_told(first, 300, NOW + timedelta(seconds=age)) == again
