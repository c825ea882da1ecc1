"""Waits begin once, are not moved by repeated syncs, and survive clocks that step back."""

from __future__ import annotations

from datetime import timedelta

from sync_hooks.execution.ranges import read_ranges, write_ranges
from sync_hooks.execution.waiting import next_look, wait, waited
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


def test_ranges_are_read_back_as_they_were_written():
    assert write_ranges([5, 1, 2, 3, 9]) == "1-3,5,9"
    assert read_ranges("1-3,5,9") == {1, 2, 3, 5, 9}
    assert read_ranges(None) == read_ranges("x,1-,-") == frozenset()
