"""The terms of goodput, and the steps, saves and attempts that they come from."""

from __future__ import annotations

import pytest

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.measurements.goodput import Terms, average_step_time, average_tflops, close, ratio
from tests.sync_hooks.measurements.trainings import Line, attempt, attempt_after, moment, terms, training_profile

PROFILE = training_profile()
UP = "framework is up"


def steps(first: int, last: int, start: float, each: float = 10) -> list[Line]:
    return [(start + (step - first) * each, f"step {step}") for step in range(first, last + 1)]


def test_the_formula() -> None:
    assert ratio(Terms(training=3600, lost=300, resume=120, reschedule=180, save=60)) == 0.859649


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(Terms(training=0), None, id="no time"),
        pytest.param(Terms(training=100, reschedule=100), None, id="no time with resources"),
        pytest.param(Terms(training=100, lost=150), 0.0, id="never below 0"),
        pytest.param(Terms(training=100), 1.0, id="all of it"),
    ],
)
def test_there_is_no_ratio_without_time_and_none_outside_0_to_1(given: Terms, expected: float | None) -> None:
    assert ratio(given) == expected


def test_start_up_counts_from_the_applications_start() -> None:
    found = terms([([(5, "hello"), (20, UP), *steps(1, 5, 50)], 100)], PROFILE)
    assert found == Terms(training=80, resume=30)


def test_without_a_recognised_start_time_counts_from_the_first_step() -> None:
    assert terms([([(5, "hello"), *steps(1, 5, 50)], 100)], PROFILE) == Terms(training=50)


def test_before_training_there_are_no_terms() -> None:
    assert terms([([(5, "hello")], 100)], PROFILE) is None


def test_a_restart_is_divided_into_lost_work_reschedule_and_resume() -> None:
    first = [(0, UP), *steps(1, 5, 10), (55, "saving step 5"), (60, "saved step 5"), *steps(6, 8, 70)]
    second = [(150, "hello"), (155, UP), (160, "loading step 5"), *steps(6, 10, 175)]
    found = terms([(first, 100), (second, 300)], PROFILE)
    assert found == Terms(training=300, lost=40, reschedule=55, resume=10 + 20, save=5)


def test_a_second_attempts_start_is_its_first_line_where_no_start_is_recognised() -> None:
    found = terms([(steps(1, 3, 10), 40), ([(100, "hello"), *steps(1, 3, 130)], 200)], PROFILE)
    assert found == Terms(training=190, lost=30, reschedule=60, resume=30)


def test_without_a_checkpoint_everything_since_the_first_step_is_lost() -> None:
    found = terms([([(0, UP), *steps(1, 5, 10)], 60)], PROFILE, failed=True)
    assert found == Terms(training=60, lost=50, resume=10)


def test_an_attempt_loses_no_more_than_itself_though_its_checkpoint_is_older() -> None:
    first = [(0, UP), *steps(1, 5, 10), (55, "saving step 5"), (60, "saved step 5")]
    second = [(100, UP), (105, "loading step 5"), *steps(6, 8, 110)]
    found = terms([(first, 70), (second, 200)], PROFILE, failed=True)
    assert found == Terms(training=200, lost=10 + 90, reschedule=30, resume=20, save=5)


def test_an_attempt_without_a_step_is_no_interruption_but_start_up() -> None:
    earlier = close(EarlierRuns(), attempt([(0, UP)], PROFILE), moment(50), interrupted=True)
    assert (earlier.interruptions, earlier.lost_work_sec, earlier.resume_sec) == (0, 0, 50)


def test_work_after_the_last_checkpoint_of_a_run_that_succeeds_is_kept() -> None:
    lines = [(0, UP), *steps(1, 5, 10), (55, "saving step 5"), (56, "saved step 5"), *steps(6, 9, 60)]
    assert terms([(lines, 100)], PROFILE) == Terms(training=100, resume=10, save=1)


def test_waiting_for_another_attempt_is_reschedule() -> None:
    assert terms([(steps(1, 5, 0), 50)], PROFILE, failed=True, until=80) == Terms(training=80, lost=50, reschedule=30)


def test_clocks_that_disagree_make_no_negative_time() -> None:
    found = terms([([(20, UP), *steps(1, 5, 30)], 100), ([(90, UP), *steps(1, 3, 95)], 60)], PROFILE)
    assert found is not None
    assert min(found.training, found.lost, found.reschedule, found.resume, found.save) >= 0


@pytest.mark.parametrize(
    ("lines", "seconds", "step"),
    [
        pytest.param([(0, "saving step 5"), (3, "saved step 5")], 3, 5, id="begin and end"),
        pytest.param([(0, "saving step 5"), (3, "saved step 5 in 2.5")], 2.5, 5, id="an end with its duration"),
        pytest.param([(0, "saving step 5 took 2.5")], 2.5, 5, id="one line"),
        pytest.param([(0, "saving step 5 took 2.5"), (3, "saved step 5")], 2.5, 5, id="one line and an end"),
        pytest.param([(0, "saving step 5"), (3, "saved")], 3, 5, id="an end without a step"),
        pytest.param([(0, "saving"), (3, "saved step 5")], 3, 5, id="a beginning without a step"),
        pytest.param([(3, "saved step 5")], 0, 5, id="an end alone"),
        pytest.param([(0, "saving step 4"), (3, "saved step 5")], 0, 5, id="an end of another save"),
        pytest.param([(0, "saving step 5"), (3, "saved step 5"), (9, "saved step 5")], 3, 5, id="an end printed twice"),
        pytest.param(
            [(0, "saving step 5"), (3, "saved step 5"), (10, "saving step 6"), (14, "saved step 6")],
            7,
            6,
            id="two saves",
        ),
        pytest.param([(0, "saving step 5")], 0, None, id="a save that never ends"),
    ],
)
def test_every_checkpoint_counts_once(lines: list[Line], seconds: float, step: int | None) -> None:
    run = attempt(lines, PROFILE)
    assert (run.save_sec, run.checkpoint_step) == (seconds, step)


def test_checkpoints_of_steps_seen_before_count_again_in_another_attempt() -> None:
    saves: list[Line] = [(30, "saving step 5"), (33, "saved step 5")]
    later: list[Line] = [(130, "saving step 5"), (134, "saved step 5")]
    found = terms([([*steps(1, 3, 0), *saves], 40), ([*steps(4, 5, 110), *later], 150)], PROFILE)
    assert found is not None
    assert found.save == 7


def test_printed_times_make_the_average_and_warm_up_is_left_out() -> None:
    profile = training_profile(warmupSteps=2)
    timings = [(1, 9000), (2, 5000), (3, 1000), (4, 1100), (5, 1200)]
    lines = [(10 * step, f"step {step} took {timing} at {timing / 10} TFLOP") for step, timing in timings]
    run = attempt(lines, profile)
    assert average_step_time(run.sums) == 1.1
    assert average_tflops(run.sums) == 110
    assert (run.sums.warmup_sec, run.sums.non_warmup_sec) == (14, 3.3)


def test_a_line_marked_as_warm_up_is_left_out_too() -> None:
    lines = [(0, "step 1 took 9000 warming up"), (10, "step 2 took 1000"), (20, "step 3 took 1000")]
    assert average_step_time(attempt(lines, PROFILE).sums) == 1


def test_a_restore_begins_a_new_warm_up() -> None:
    profile = training_profile(warmupSteps=1)
    lines = [
        (0, "step 1 took 9000"),
        (1, "step 2 took 1000"),
        (2, "loading step 1"),
        (3, "step 2 took 7000"),
        (4, "step 3 took 1000"),
    ]
    earlier, run = attempt_after(EarlierRuns(), lines, profile)
    assert close(earlier, run, moment(5), interrupted=False).sums.timings == 2
    assert run.warmup_base_step == 2


def test_without_printed_times_the_time_between_steps_makes_the_average() -> None:
    whole = close(EarlierRuns(), attempt(steps(1, 11, 0, each=2), PROFILE), moment(30), interrupted=False)
    assert average_step_time(whole.sums) == 2


def test_going_back_to_a_checkpoint_does_not_count_the_way_back() -> None:
    lines = [*steps(1, 5, 0), (60, "loading step 3"), *steps(4, 8, 100)]
    whole = close(*attempt_after(EarlierRuns(), lines, PROFILE), moment(140), interrupted=False)
    assert (whole.sums.gap_sec, whole.sums.gap_steps) == (80, 8)
    assert whole.highest_step == 8


def test_lines_off_the_interval_are_ignored_and_the_others_stand_for_all_steps_between() -> None:
    profile = training_profile(logInterval=10)
    lines = [(step, f"step {step} took 500") for step in (1, 5, 10, 20, 30)]
    run = attempt(lines, profile)
    assert (run.first_step, run.last_step, run.sums.timings) == (10, 30, 3)
    assert run.sums.non_warmup_sec == 15


def test_a_step_printed_by_two_ranks_counts_once() -> None:
    lines = [(0, "step 1 took 1000"), (1, "step 2 took 1000"), (1, "step 2 took 3000"), (2, "step 3 took 1000")]
    assert average_step_time(attempt(lines, PROFILE).sums) == 1


@pytest.mark.parametrize("timing", ["nan", "inf", "-5", "x", "1e300", ""])
def test_a_time_that_is_none_makes_no_average(timing: str) -> None:
    run = attempt([(step, f"step {step} took {timing} at {timing} TFLOP") for step in range(1, 4)], PROFILE)
    assert (run.sums.timings, run.sums.tflops_lines) == (0, 0)
    assert run.last_step == 3


def test_only_the_first_start_counts_though_a_banner_matches_every_line() -> None:
    profile = training_profile(
        patterns={"applicationStart": {"regex": "."}, "trainingStep": {"regex": r"step (?P<globalStep>\d+)"}},
        warmupSteps=2,
    )
    run = attempt([(5, "hello"), *steps(1, 9, 10)], profile)
    assert run.application_start_time == "2026-01-01T12:00:05.000000Z"
    assert run.warmup_base_step == 1


def test_a_line_is_claimed_by_one_kind_only() -> None:
    profile = training_profile(
        patterns={
            "trainingStep": {"regex": r"step (?P<globalStep>\d+)"},
            "checkpointSave": {"regex": r"sav\w+ step (?P<step>\d+)"},
            "checkpointDone": {"regex": r"saved (?:checkpoint|step) (?P<step>\d+)"},
        }
    )
    run = attempt([(0, "saving step 5"), (3, "saved step 5"), (4, "saved checkpoint 7")], profile)
    assert (run.last_step, run.pending_save, run.checkpoint_step) == (5, None, 7)


def test_times_that_the_log_prints_count_before_the_kubelets() -> None:
    profile = training_profile(
        patterns={"trainingStep": {"regex": r"^\[(?P<timestamp>[^\]]+)\] step (?P<globalStep>\d+)"}}
    )
    run = attempt([(10, "[2026-01-01 13:00:07] step 1"), (20, "[2026-01-01 13:00:17] step 2")], profile)
    assert run.first_step_time == "2026-01-01T12:00:07.000000Z"
    assert run.last_step_time == "2026-01-01T12:00:17.000000Z"


def test_nothing_is_known_of_an_empty_log() -> None:
    assert attempt([], PROFILE) == GoodputRun(workload_uid="uid")
    assert average_step_time(GoodputRun(workload_uid="uid").sums) is None
    assert average_tflops(GoodputRun(workload_uid="uid").sums) is None
