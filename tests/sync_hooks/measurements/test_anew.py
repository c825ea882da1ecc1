"""A workload that begins anew inside its container: what it had not saved is lost, and getting going takes time."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.measurements.anew import MOST_INTERRUPTIONS
from sync_hooks.measurements.goodput import Terms, close
from sync_hooks.measurements.training import read_lines
from tests.sync_hooks.measurements.trainings import Line, attempt_after, log, moment, terms, training_profile

PROFILE = training_profile()
UP = "framework is up"
BANNER = {"applicationStart": {"regex": "^framework"}, "trainingStep": {"regex": r"^step (?P<globalStep>\d+)"}}


def steps(first: int, last: int, start: float, each: float = 10) -> list[Line]:
    return [(start + (step - first) * each, f"step {step}") for step in range(first, last + 1)]


SAVED = [(55.0, "saving step 5"), (60.0, "saved step 5")]
BEFORE = [(0.0, UP), *steps(1, 5, 10), *SAVED, *steps(6, 8, 70)]
"""Until 90 s: eight steps, the fifth of them saved at 60 s."""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [(690, UP), (700, "loading step 5"), (720, "loaded step 5"), *steps(6, 9, 740)],
            Terms(training=800, lost=630, resume=10 + 50, save=5),
            id="start and restore",
        ),
        pytest.param(
            [(700, "loading step 5"), *steps(6, 9, 740)],
            Terms(training=800, lost=640, resume=10 + 40, save=5),
            id="a restore alone",
        ),
        pytest.param(
            [(700, "loading step 8"), *steps(9, 12, 740)],
            Terms(training=800, lost=640, resume=10 + 40, save=5),
            id="from where it was, so that no step goes back",
        ),
        pytest.param(
            [(690, UP), *steps(1, 5, 740)],
            Terms(training=800, lost=630, resume=10 + 50, save=5),
            id="from the beginning",
        ),
    ],
)
def test_a_new_beginning_loses_what_was_not_saved_and_resumes_with_its_first_step(
    lines: list[Line], expected: Terms
) -> None:
    assert terms([([*BEFORE, *lines], 800)], PROFILE) == expected
    assert interruptions([*BEFORE, *lines]) == 1


def interruptions(lines: list[Line], profile: Any = PROFILE) -> int:
    return attempt_after(EarlierRuns(), lines, profile)[0].interruptions


@pytest.mark.parametrize(
    ("lines", "profile"),
    [
        pytest.param(steps(1, 5, 100), PROFILE, id="steps that go back alone, as in every epoch"),
        pytest.param([(95, UP), *steps(9, 12, 100)], PROFILE, id="a start alone, and the next step follows"),
        pytest.param([(95, "loading step 5")], PROFILE, id="a checkpoint that is loaded when all steps are done"),
        pytest.param([(95, "framework says"), *steps(8, 9, 100)], PROFILE, id="a step that two ranks print"),
        pytest.param(
            [line for at in range(9, 20) for line in ((at * 20, "framework says"), (at * 20 + 9, f"step {at}"))],
            training_profile(patterns=BANNER),
            id="a banner on most lines",
        ),
    ],
)  # fmt: skip
def test_what_is_no_new_beginning_loses_nothing(lines: list[Line], profile: Any) -> None:
    assert interruptions([*BEFORE, *lines], profile) == 0


def test_a_banner_on_most_lines_hides_no_new_beginning() -> None:
    lines = [*BEFORE, (95, "framework says"), (700, "framework says"), *steps(1, 4, 740)]
    assert interruptions(lines, training_profile(patterns=BANNER)) == 1


def test_every_new_beginning_counts_and_the_sums_go_on() -> None:
    again = [(200, "loading step 5"), *steps(6, 8, 210), (300, "loading step 5"), *steps(6, 9, 310)]
    earlier, run = attempt_after(EarlierRuns(), [*BEFORE, *again], PROFILE)
    whole = close(earlier, run, moment(400), interrupted=False)
    assert (whole.interruptions, whole.lost_work_sec, whole.resume_sec) == (2, 140 + 90, 10 + 10 + 10)
    assert (whole.highest_step, whole.checkpoint_step) == (9, 5)
    assert (whole.sums.gap_sec, whole.sums.gap_steps) == (80 + 20 + 30, 7 + 2 + 3)


def test_a_failure_before_the_first_step_of_a_new_beginning_loses_all_since_the_save() -> None:
    lines = [*BEFORE, (700, "loading step 5")]
    assert terms([(lines, 750)], PROFILE, failed=True) == Terms(training=750, lost=690, resume=10, save=5)


def test_an_attempt_after_one_that_began_anew_adds_to_it() -> None:
    first = [*BEFORE, (200, "loading step 5"), *steps(6, 8, 210)]
    found = terms([(first, 240), ([(300, UP), *steps(6, 9, 310)], 400)], PROFILE)
    assert found == Terms(training=400, lost=140 + 30, reschedule=60, resume=10 + 10 + 10, save=5)


def test_a_log_that_begins_anew_for_ever_is_read_in_bounded_time() -> None:
    again = [line for at in range(2000) for line in ((at * 10.0, "loading step 5"), (at * 10.0 + 5, "step 6"))]
    earlier, run = attempt_after(EarlierRuns(), [(0, "step 1"), *again], PROFILE)
    assert (earlier.interruptions, run.last_step) == (MOST_INTERRUPTIONS, 6)


STARTS: list[Line] = [
    (0, UP),
    *SAVED,
    (690, UP),
    (700, "loading step 5"),
    (790, "saving step 9"),
    (795, "saved step 9"),
]
TRAINED = [*steps(1, 8, 10), *steps(6, 12, 740)]


def of_two_logs(*pages: tuple[list[Line], list[Line]]) -> EarlierRuns:
    """What an attempt came to, of which one pod prints starts and saves and another one the steps."""
    earlier, run = EarlierRuns(), GoodputRun(workload_uid="uid")
    for told, trained in pages:
        earlier, run = read_lines(earlier, run, log(told), PROFILE, log(trained))
    return close(earlier, run, moment(900), interrupted=False)


def test_two_logs_are_put_in_order_by_their_times() -> None:
    found = of_two_logs((STARTS, TRAINED))
    assert (found.interruptions, found.lost_work_sec, found.resume_sec, found.save_sec) == (1, 630, 10 + 50, 10)


@pytest.mark.parametrize("cut", range(0, 900, 50))
def test_two_logs_come_to_the_same_however_they_are_cut_up(cut: int) -> None:
    def between(first: float, last: float) -> tuple[list[Line], list[Line]]:
        told, trained = ([line for line in lines if first <= line[0] < last] for lines in (STARTS, TRAINED))
        return told, trained

    assert of_two_logs(between(0, cut), between(cut, 900)) == of_two_logs((STARTS, TRAINED))


def test_steps_that_are_read_late_show_no_new_beginning() -> None:
    late, rest = TRAINED[4:8], TRAINED[8:]
    found = of_two_logs((STARTS[:5], TRAINED[:4]), ([], late), (STARTS[5:], rest))
    assert (found.interruptions, found.lost_work_sec, found.resume_sec) == (1, 630, 60)
