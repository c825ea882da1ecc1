"""GoodputMeasurements whose log is not whole, shows no step that counts, or shows a workload that began anew."""

from __future__ import annotations

import pytest

from tests.sync_hooks.measurements.test_goodput_hook import (
    FIRST,
    LAST,
    MULTI,
    SINGLE,
    TRAINING,
    ended,
    figures,
    outcome,
    until,
    world,
)
from tests.sync_hooks.measurements.trainings import log
from tests.sync_hooks.measurements.worlds import WORDS, job, jobset, pod, stamped

GAP = "1 times lines of the log were rotated away before they could be read"


def test_lines_that_rotation_took_from_the_middle_are_noted_and_doubted_in_the_end() -> None:
    running = world(logs={FIRST: until(TRAINING, 100), LAST: b""})
    running.sync(110)
    running.logs = {FIRST: log([line for line in TRAINING if line[0] > 145]), LAST: b""}
    running.sync(190)
    assert running.status["notes"] == [GAP]
    ended(running).sync(300)
    assert (running.status["doubts"], running.status.get("notes")) == ([GAP], None)


@pytest.mark.parametrize("left", [b"", WORDS], ids=["nothing", "a kubelet's words"])
def test_a_log_out_of_reach_is_no_look_at_the_training(left: bytes) -> None:
    running = world(logs={FIRST: until(TRAINING, 100), LAST: b""})
    running.sync(110)
    before = dict(running.status)
    running.logs = {FIRST: left, LAST: b""}
    assert [running.sync(seconds).resync_after for seconds in (170, 185, 600)] == [15, 15, 15]
    assert running.status == before
    running.logs = {FIRST: log(TRAINING), LAST: b""}
    ended(running).sync(700)
    assert (outcome(running)[0], running.status.get("doubts")) == ("JobSucceeded", None)


@pytest.mark.parametrize(
    ("left", "reason"), [(b"", "JobSucceeded"), (WORDS, "LogsUnavailable")], ids=["nothing", "a kubelet's words"]
)
def test_a_log_that_is_gone_at_the_end_does_not_pass_for_what_was_read_of_it(left: bytes, reason: str) -> None:
    running = world(logs={FIRST: until(TRAINING, 100), LAST: b""})
    running.sync(110)
    running.logs = {FIRST: left, LAST: b""}
    ended(running)
    assert running.sync(300).resync_after == 15
    assert running.condition("Measuring")["reason"] == "FinalReadPending"
    assert 420 <= running.run(300) <= 480
    assert outcome(running)[0] == reason
    assert running.status.get("doubts") == ([GAP] if reason == "JobSucceeded" else None)
    assert ("result" in running.status) == (reason == "JobSucceeded")


def test_a_log_that_begins_long_after_its_container_is_doubted() -> None:
    later = [(seconds + 14_400, text) for seconds, text in TRAINING]
    done = ended(world(logs={FIRST: log(later), LAST: b""}), end=14_600)
    done.sync(14_700)
    assert outcome(done)[0] == "JobSucceeded"
    assert done.status["doubts"] == ["the log may lack its beginning: it begins 14410 s later than its container"]


def test_a_log_that_was_seen_without_a_line_has_not_lost_its_beginning() -> None:
    later = [(seconds + 300, text) for seconds, text in TRAINING]
    running = world(logs={FIRST: b"", LAST: b""})
    running.sync(200)
    running.logs = {FIRST: log(later), LAST: b""}
    ended(running, end=500).sync(600)
    assert outcome(running) == ("JobSucceeded", "training reached step 15")
    assert "doubts" not in running.status


def test_a_node_whose_clock_is_half_an_hour_ahead_of_ours_has_not_lost_its_beginning() -> None:
    running = world(logs={FIRST: b"", LAST: b""})
    running.pods = tuple(pod("node", index, started=1800) for index in (0, 1))
    running.sync(30)
    running.logs = {FIRST: log([(seconds + 1865, text) for seconds, text in TRAINING]), LAST: b""}
    running.sync(95)
    assert "lateSec" not in running.status["run"]


def test_what_an_earlier_attempt_lost_is_doubted_in_the_end() -> None:
    running = world(logs={FIRST: until(TRAINING, 100), LAST: b""})
    running.sync(110)
    running.logs = {FIRST: log([line for line in TRAINING if line[0] > 145]), LAST: b""}
    running.sync(190)
    running.jobset, running.logs = (
        jobset(1, roles={"node": 2}, trainer="node"),
        {f"job-w1-node-0-{index}": log([(seconds + 300, text) for seconds, text in TRAINING]) for index in (0, 1)},
    )
    running.job, running.pods = job(attempt=1), tuple(pod("node", index, attempt=1, started=300) for index in (0, 1))
    running.sync(450)
    running.job = job("Succeeded", end=500, attempt=1)
    running.pods = tuple(pod("node", index, attempt=1, started=300, phase="Succeeded") for index in (0, 1))
    running.sync(600)
    assert (running.status["doubts"], running.status["interruptionCount"]) == ([GAP], 1)


@pytest.mark.parametrize(
    ("lines", "interval", "message"),
    [
        pytest.param(
            [f"step {step}" for step in range(1, 10)],
            10,
            "the log holds 9 lines of training steps, none of a multiple of logInterval 10: "
            "set logInterval of the LogProfile to that of the training, or train for longer",
            id="off the interval",
        ),
        pytest.param(["step 0"], 1, "the log holds 1 line of training steps, none with a number above 0", id="step 0"),
        pytest.param(["hello"], 1, "the log holds no training step", id="none"),
    ],
)
def test_why_no_step_counted_is_said(lines: list[str], interval: int, message: str) -> None:
    done = ended(world({**SINGLE, "logInterval": interval}, logs={FIRST: stamped(lines), LAST: b""}))
    done.sync(300)
    assert outcome(done) == ("NoDataCollected", message)


def test_a_workload_that_began_anew_in_its_container_has_lost_work() -> None:
    anew = [(800.0, "framework is up"), (810.0, "loading step 10")]
    again = [(seconds + 700, text) for seconds, text in TRAINING if seconds > 137]
    done = ended(world(logs={FIRST: log([*TRAINING, *anew, *again]), LAST: b""}), end=900)
    done.sync(1000)
    assert figures(done) == [round((890 - 663 - 70 - 5) / 890, 6), 890, 663, 0, 30 + 40, 5]
    assert (done.status["interruptionCount"], done.status["highestStep"]) == (1, 15)


@pytest.mark.parametrize("limit", [None, 300])
def test_of_two_pods_the_one_with_the_starts_tells_of_a_new_beginning(limit: int | None) -> None:
    anew = [(800.0, "framework is up"), (810.0, "loading step 10")]
    lines = [*TRAINING, *anew, *((seconds + 700, text) for seconds, text in TRAINING if seconds > 137)]
    told = [line for line in lines if not line[1].startswith("step")]
    trained = [line for line in lines if line[1].startswith("step")]
    done = ended(world(MULTI, logs={FIRST: log(told), LAST: log(trained)}, limit=limit), end=900)
    done.run(1000)
    assert figures(done) == [round((890 - 663 - 70 - 5) / 890, 6), 890, 663, 0, 30 + 40, 5]


UNREADABLE = [" at nan TFLOP", " at 0.00 TFLOP", " at 5oo TFLOP", ""]


@pytest.mark.parametrize("tflops", UNREADABLE)
def test_an_average_of_some_of_the_steps_is_doubted(tflops: str) -> None:
    lines = [f"step {step} took 100{' at 500 TFLOP' if step < 12 else tflops}" for step in range(1, 102)]
    done = ended(world(logs={FIRST: stamped(lines), LAST: b""}))
    done.sync(300)
    doubt = "90 lines of 100 with training steps show no TFLOP/s that can be read: the average is of the others"
    assert (done.status["avgTFLOPsPerGPU"], done.status["doubts"]) == (500, [doubt])


def test_an_average_of_almost_all_steps_is_noted_as_what_it_is() -> None:
    lines = [f"step {step} took {100 if step != 50 else 'nan'} at 500 TFLOP" for step in range(1, 102)]
    done = ended(world(logs={FIRST: stamped(lines), LAST: b""}))
    done.sync(300)
    note = "1 line of 100 with training steps show no time that can be read: the average is of the others"
    assert (done.status["avgStepTimeSec"], done.status["notes"], done.status.get("doubts")) == (0.1, [note], None)


def test_steps_that_print_no_rate_at_all_are_not_doubted() -> None:
    done = ended(world(logs={FIRST: stamped([f"step {step}" for step in range(1, 102)]), LAST: b""}))
    done.sync(300)
    assert not {"doubts", "notes", "avgTFLOPsPerGPU"} & done.status.keys()
