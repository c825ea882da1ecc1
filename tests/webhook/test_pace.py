"""Large requests about one parent are answered at a pace; small ones, and the first after a quiet time, at once."""

from __future__ import annotations

import json

import pytest

from webhook.pace import FREE_BYTES, LONGEST_SECONDS, PRESSING_SECONDS, SECONDS_A_BYTE, Pace

MEGABYTE = 1 << 20


class Time:
    """A clock that only pauses move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    """The time of a test."""
    return Time()


@pytest.fixture
def pace(time: Time) -> Pace:
    """A pace that takes the test's time."""
    return Pace(lambda: time.now, time.pause)


def request(size: int, uid: str = "one") -> bytes:
    head = json.dumps({"parent": {"metadata": {"uid": uid}}, "children": ""})
    return f'{head[:-2]}{"x" * (size - len(head))}"}}'.encode()


def test_small_requests_are_answered_at_once(pace: Pace, time: Time) -> None:
    for _ in range(3):
        pace.keep(request(FREE_BYTES - 1))
    assert time.pauses == []


def test_a_second_large_request_waits_as_long_as_the_first_was_large(pace: Pace, time: Time) -> None:
    pace.keep(request(MEGABYTE // 2))
    pace.keep(request(MEGABYTE // 4))
    pace.keep(request(MEGABYTE // 4))
    assert time.pauses == pytest.approx([0.5, 0.25])


def test_time_that_has_passed_anyway_counts(pace: Pace, time: Time) -> None:
    pace.keep(request(MEGABYTE))
    time.now += 0.75
    pace.keep(request(MEGABYTE))
    time.now += 5
    pace.keep(request(MEGABYTE))
    assert time.pauses == pytest.approx([0.25])


def test_parents_do_not_wait_for_each_other(pace: Pace, time: Time) -> None:
    for uid in ("one", "two", "three"):
        pace.keep(request(MEGABYTE, uid))
    assert time.pauses == []


def test_nobody_waits_longer_than_the_bound_however_many_ask(pace: Pace, time: Time) -> None:
    still = Pace(lambda: time.now, time.pauses.append)  # nobody's pause is over before the next one comes
    for _ in range(10):
        still.keep(request(50 * MEGABYTE))
    assert max(time.pauses) <= LONGEST_SECONDS


def test_a_step_that_nothing_else_goes_on_beside_waits_for_the_caches_only(pace: Pace, time: Time) -> None:
    pace.keep(request(MEGABYTE))
    pace.note("one", pressing=True)
    pace.keep(request(MEGABYTE))
    pace.keep(request(MEGABYTE))  # what was answered to a request that was older says nothing
    pace.note("one", pressing=False)
    pace.keep(request(MEGABYTE))
    assert time.pauses == pytest.approx([PRESSING_SECONDS, PRESSING_SECONDS, LONGEST_SECONDS])


def test_a_step_of_one_parent_hurries_no_other(pace: Pace, time: Time) -> None:
    for uid in ("one", "two"):
        pace.keep(request(MEGABYTE, uid))
    pace.note("one", pressing=True)
    pace.keep(request(MEGABYTE, "two"))
    assert time.pauses == pytest.approx([LONGEST_SECONDS])


def test_parents_of_small_requests_are_not_remembered(pace: Pace) -> None:
    pace.keep(request(FREE_BYTES - 1))
    pace.note("one", pressing=True)
    assert len(pace) == 0


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"x" * FREE_BYTES, id="no JSON"),
        pytest.param(b"[" * FREE_BYTES, id="too deep"),
        pytest.param(b'{"parent":1,"children":"' + b"x" * FREE_BYTES + b'"}', id="no object"),
    ],
)
def test_what_cannot_be_understood_is_not_held_up(pace: Pace, time: Time, body: bytes) -> None:
    pace.keep(body)
    pace.keep(body)
    assert time.pauses == []


def test_parents_of_the_past_are_forgotten(time: Time) -> None:
    pace = Pace(lambda: time.now, time.pause)
    for number in range(100):
        pace.keep(request(FREE_BYTES, str(number)))
        time.now += FREE_BYTES * SECONDS_A_BYTE
    assert len(pace) == 1
