"""The work queue coalesces, never works on a key twice at a time, and retries later and later."""

from __future__ import annotations

from cli.simulator.clock import VirtualClock
from cli.simulator.workqueue import WorkQueue
from tests.cli.simulator.cluster import START


class Wakes:
    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        self.count = 0
        self.queue = WorkQueue[str](self.clock, self.wake)

    def wake(self) -> None:
        self.count += 1


def test_a_key_is_there_once_however_often_it_is_added() -> None:
    wakes = Wakes()
    for _ in range(3):
        wakes.queue.add("a")
    assert (wakes.queue.take(), wakes.queue.take(), wakes.count) == ("a", None, 1)


def test_a_key_added_while_it_is_worked_on_comes_again_when_that_is_done() -> None:
    wakes = Wakes()
    wakes.queue.add("a")
    wakes.queue.take()
    wakes.queue.add("a")
    wakes.queue.add("a")
    assert wakes.queue.take() is None
    wakes.queue.done("a")
    assert (wakes.queue.take(), wakes.queue.take()) == ("a", None)


def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    wakes = Wakes()
    for key in "bac":
        wakes.queue.add(key)
    assert [wakes.queue.take() for _ in range(3)] == ["b", "a", "c"]


def test_of_several_delays_the_earliest_counts() -> None:
    wakes = Wakes()
    for delay in (30, 10, 20):
        wakes.queue.add_after("a", delay)
    wakes.clock.advance(9.9)
    assert wakes.queue.take() is None
    wakes.clock.advance(0.2)
    assert wakes.queue.take() == "a"
    wakes.queue.done("a")
    wakes.clock.advance(60)
    assert wakes.queue.take() is None


def test_an_event_cancels_no_delay() -> None:
    wakes = Wakes()
    wakes.queue.add_after("a", 10)
    wakes.queue.add("a")
    assert wakes.queue.take() == "a"
    wakes.queue.done("a")
    wakes.clock.advance(10)
    assert wakes.queue.take() == "a"


def test_failures_wait_5_ms_doubled_up_to_1000_s() -> None:
    wakes, waits = Wakes(), []
    for _ in range(22):
        before = wakes.clock.time
        wakes.queue.retry("a")
        wakes.clock.step()
        waits.append(round(wakes.clock.time - before, 3))
        wakes.queue.take()
        wakes.queue.done("a")
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[16:20] == [327.68, 655.36, 1000, 1000]
    wakes.queue.forget("a")
    wakes.queue.retry("a")
    before = wakes.clock.time
    wakes.clock.step()
    assert round(wakes.clock.time - before, 3) == 0.005


def test_a_cleared_queue_has_forgotten_everything() -> None:
    wakes = Wakes()
    wakes.queue.add("a")
    wakes.queue.add_after("b", 5)
    wakes.queue.clear()
    wakes.clock.advance(60)
    assert wakes.queue.take() is None
    wakes.queue.add("a")
    assert wakes.queue.take() == "a"
