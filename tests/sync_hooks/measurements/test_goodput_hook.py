"""GoodputMeasurements from their first sample to their end, over attempts."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.sync import ListPods, ReadLog
from tests.sync_hooks.measurements.trainings import SPEC, Line, log
from tests.sync_hooks.measurements.worlds import World, example, job, jobset, pod, shipped, stamp, stamped

FIRST, LAST = "job-w0-node-0-0", "job-w0-node-0-1"
SINGLE = {**SPEC, "warmupSteps": 1}
MULTI = {**SINGLE, "workerStrategy": {"type": "Multi", "lifecyclePod": "first", "trainingStepPod": "last"}}

TRAINING: list[Line] = [
    (10, "framework is up"),
    *((30 + 10 * step, f"step {step} took {2000 if step == 1 else 10000} at 500 TFLOP") for step in range(1, 11)),
    (132, "saving step 10"),
    (137, "saved step 10"),
    *((30 + 10 * step, f"step {step} took 10000 at 500 TFLOP") for step in range(11, 16)),
]


def world(profile: Any = SINGLE, **more: Any) -> World:
    """A Job of two nodes that trains and has printed everything on its first pod."""
    fields = {
        "kind": "GoodputMeasurement",
        "profile": profile,
        "jobset": jobset(roles={"node": 2}, trainer="node"),
        "pods": (pod("node", 0), pod("node", 1)),
        "logs": {FIRST: log(TRAINING), LAST: log([])},
        **more,
    }
    return World(**fields)


def until(lines: list[Line], seconds: float) -> bytes:
    return log([line for line in lines if line[0] <= seconds])


def ended(running: World, phase: str = "Succeeded", end: float = 200, attempt: int = 0) -> World:
    running.job = job(phase, end=end, attempt=attempt)
    running.pods = tuple(pod("node", index, attempt=attempt, phase=phase) for index in (0, 1))
    return running


def outcome(done: World) -> tuple[str, str]:
    complete = done.condition("Complete")
    assert complete.get("status") == "True", done.status
    assert done.condition("Measuring")["reason"] == complete["reason"]
    return complete["reason"], complete["message"]


FIGURES = (
    "result",
    "trainingTimeSec",
    "lostWorkTimeSec",
    "rescheduleTimeSec",
    "resumeTimeSec",
    "checkpointSaveTimeSec",
)


def figures(done: World) -> list[float | None]:
    return [done.status.get(name) for name in FIGURES]


def test_a_finished_training_is_measured_in_one_sync() -> None:
    done = ended(world())
    assert done.sync(300).resync_after == 0
    assert outcome(done) == ("JobSucceeded", "training reached step 15")
    assert figures(done) == [round((190 - 30 - 5) / 190, 6), 190, 0, 0, 30, 5]
    assert (done.status["avgStepTimeSec"], done.status["avgTFLOPsPerGPU"]) == (10, 500)
    assert (done.status["highestStep"], done.status["lastCheckpointStep"]) == (15, 10)
    assert (done.status["trainingStartTime"], done.status["completionTime"]) == (stamp(10), stamp(200))
    assert "run" not in done.status


def test_a_complete_measurement_is_never_touched_again_and_nothing_is_read() -> None:
    done = ended(world())
    done.sync(300)
    before = dict(done.status)
    done.logs, done.job = {}, None
    assert done.sync(10_000).resync_after == 0
    assert (done.status, done.seen) == (before, [])


@pytest.mark.parametrize("interval", [7, 60, 97])
@pytest.mark.parametrize("limit", [None, 300])
def test_samples_end_where_one_read_ends(interval: float, limit: int | None) -> None:
    whole = ended(world())
    whole.sync(400)
    running = world(limit=limit, spec={"sampleInterval": f"{interval}s"})
    seconds = 3.0
    while seconds < 200:
        running.logs = {FIRST: until(TRAINING, seconds), LAST: b""}
        seconds += running.sync(seconds).resync_after
    running.logs = {FIRST: log(TRAINING), LAST: b""}
    ended(running).run(400)
    same = {
        name: value for name, value in whole.status.items() if name not in ("startTime", "lastSampleTime", "conditions")
    }
    assert {name: running.status.get(name) for name in same} == same


def test_a_running_training_shows_what_it_has_come_to() -> None:
    running = world(logs={FIRST: until(TRAINING, 100), LAST: b""})
    assert running.sync(110).resync_after == 60
    assert running.condition("Measuring")["status"] == "True"
    assert figures(running) == [0.7, 100, 0, 0, 30, 0]
    assert (running.status["currentStep"], running.status["lastStepTimestamp"]) == (7, stamp(100))
    assert running.status["applicationStartTime"] == stamp(10)


def test_before_the_first_step_there_is_no_result() -> None:
    running = world(logs={FIRST: until(TRAINING, 20), LAST: b""})
    running.sync(30)
    assert figures(running) == [None] * 6
    assert running.status["applicationStartTime"] == stamp(10)
    assert "lastStepTimestamp" not in running.status


def test_warm_up_steps_do_not_start_stall_detection() -> None:
    running = world(logs={FIRST: until(TRAINING, 40), LAST: b""})
    running.sync(45)
    assert running.status["currentStep"] == 1
    assert "lastStepTimestamp" not in running.status


def test_a_restart_continues_the_sums_and_resets_nothing() -> None:
    running = world()
    running.sync(190)
    assert running.job is not None
    running.job["status"] |= {"workloadPhase": "Failed", "workloadEndTime": stamp(200)}
    running.pods = tuple(pod("node", index, phase="Failed") for index in (0, 1))
    running.sync(260)
    assert running.condition("Complete") == {}
    assert running.condition("Measuring")["reason"] == "AttemptFailed"
    assert running.status["run"]["finished"] is True
    assert "lastStepTimestamp" not in running.status, "the next attempt would seem to have stalled"
    version = running.version
    running.sync(275)
    assert running.version == version, "nothing changes while another attempt is waited for"
    second = [
        (310, "framework is up"),
        (315, "loading step 10"),
        *((330.0 + 10 * n, f"step {n} took 10000") for n in range(11, 31)),
    ]
    running.job, running.jobset = job(attempt=1), jobset(1, roles={"node": 2}, trainer="node")
    running.pods = tuple(pod("node", index, attempt=1, started=300) for index in (0, 1))
    running.logs = {"job-w1-node-0-0": until(second, 480), "job-w1-node-0-1": b""}
    running.sync(490)
    assert running.status["workloadUID"] == "uid-w1"
    assert (running.status["currentStep"], running.status["highestStep"]) == (15, 15)
    running.logs = {"job-w1-node-0-0": log(second), "job-w1-node-0-1": b""}
    ended(running, end=640, attempt=1).sync(700)
    lost, rescheduled, resumed = 200 - 137, 310 - 200, 30 + (440 - 310)
    training = 640 - 10
    kept = training - lost - rescheduled - resumed - 5
    assert figures(running) == [
        round(kept / (training - rescheduled), 6),
        training,
        lost,
        rescheduled,
        resumed,
        5,
    ]
    assert (running.status["interruptionCount"], running.status["highestStep"]) == (1, 30)
    assert running.status["trainingStartTime"] == stamp(10)


def test_a_restart_that_was_not_seen_to_fail_ends_with_its_last_line() -> None:
    running = world()
    running.sync(190)
    second: list[Line] = [(310, "framework is up"), (340, "step 16 took 10000"), (350, "step 17 took 10000")]
    running.job, running.jobset = job(attempt=1), jobset(1, roles={"node": 2}, trainer="node")
    running.pods = tuple(pod("node", index, attempt=1, started=300) for index in (0, 1))
    running.logs = {"job-w1-node-0-0": log(second), "job-w1-node-0-1": b""}
    running.sync(360)
    assert figures(running)[1:] == [350, 180 - 137, 310 - 180, 30 + 30, 5]


def test_a_restart_of_the_jobset_is_an_attempt_too() -> None:
    running = world()
    running.sync(190)
    second: list[Line] = [(310, "framework is up"), (340, "step 16 took 10000"), (350, "step 17 took 10000")]
    running.pods = tuple(pod("node", index, restart=1, started=300) for index in (0, 1))
    running.logs = {FIRST: log(second), LAST: b""}
    running.sync(360)
    running.sync(420)
    assert running.status["interruptionCount"] == 1
    assert running.status["currentStep"] == 17
    assert (running.status["run"]["workloadUID"], running.status["run"]["restart"]) == ("uid-w0", 1)


def test_a_new_attempt_whose_log_is_not_there_yet_shows_no_step_of_the_old_one() -> None:
    running = world()
    running.sync(190)
    running.job, running.jobset, running.pods = job(attempt=1), jobset(1, roles={"node": 2}, trainer="node"), ()
    running.sync(260)
    assert running.condition("Measuring")["reason"] == "PodNotFound"
    assert "lastStepTimestamp" not in running.status
    assert (running.status["highestStep"], running.status["lastCheckpointStep"]) == (15, 10)


def test_a_job_that_fails_for_good_has_lost_what_was_not_saved() -> None:
    done = ended(world(), "Failed")
    done.sync(300)
    assert outcome(done) == ("JobFailed", "the Job failed; training had reached step 15")
    assert figures(done)[1:] == [190, 63, 0, 30, 5]
    assert done.status["interruptionCount"] == 1


def test_starts_and_steps_come_from_their_own_pods() -> None:
    lifecycle = [line for line in TRAINING if not line[1].startswith("step")]
    training = [line for line in TRAINING if line[1].startswith("step")]
    single, multi = ended(world()), ended(world(MULTI, logs={FIRST: log(lifecycle), LAST: log(training)}))
    single.sync(300)
    multi.sync(300)
    assert {read.pod for read in multi.seen if isinstance(read, ReadLog)} == {FIRST, LAST}
    ignored = {"conditions", "startTime"}
    assert {key: value for key, value in multi.status.items() if key not in ignored} == {
        key: value for key, value in single.status.items() if key not in ignored
    }


def test_two_pods_are_read_page_by_page_each_at_its_own_pace() -> None:
    lifecycle = [line for line in TRAINING if not line[1].startswith("step")]
    training = [line for line in TRAINING if line[1].startswith("step")]
    done = ended(world(MULTI, logs={FIRST: log(lifecycle), LAST: log(training)}, limit=200))
    done.run(300)
    assert figures(done)[1:] == [190, 0, 0, 30, 5]


def test_of_one_node_only_one_log_is_read() -> None:
    done = world(MULTI, jobset=jobset(roles={"node": 1}, trainer="node"), pods=(pod("node", 0),))
    done.sync(190)
    assert len([read for read in done.seen if isinstance(read, ReadLog)]) == 1
    assert done.status["currentStep"] == 15


def test_the_last_pod_is_waited_for() -> None:
    running = world(MULTI, pods=(pod("node", 0),))
    running.sync(190)
    assert running.condition("Measuring")["reason"] == "PodNotFound"


@pytest.mark.parametrize(
    ("phase", "reason"), [pytest.param("Succeeded", "NoDataCollected"), pytest.param("Failed", "JobFailed")]
)
def test_a_log_without_steps_is_no_data(phase: str, reason: str) -> None:
    done = ended(world(logs={FIRST: log([(10, "framework is up")]), LAST: b""}), phase)
    done.sync(300)
    assert outcome(done)[0] == reason
    assert figures(done) == [None] * 6


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"failing": {ReadLog: "answered 500"}}, id="log"),
        pytest.param({"failing": {ListPods: "busy"}}, id="pods"),
        pytest.param({"pods": ()}, id="no pods"),
    ],
)
def test_what_cannot_be_read_in_the_end_leaves_no_figure_to_judge(broken: dict[str, Any]) -> None:
    running = world()
    running.sync(190)
    ended(running)
    for name, value in broken.items():
        setattr(running, name, value)
    last = running.run(260)
    assert 380 <= last <= 440
    assert outcome(running)[0] == "LogsUnavailable"
    assert not {"result", "avgStepTimeSec", "avgTFLOPsPerGPU"} & running.status.keys()
    assert running.status["highestStep"] == 15


def test_a_failed_job_without_pods_ends_at_once_with_what_was_seen() -> None:
    running = world()
    running.sync(190)
    ended(running, "Failed").pods = ()
    running.sync(260)
    assert outcome(running)[0] == "JobFailed"
    assert running.status["highestStep"] == 15


def failed_attempt(pods: tuple[int, ...], logs: dict[str, bytes]) -> World:
    """A first attempt that has failed and may be followed by another; of its two pods and their logs some are left."""
    attempt = ended(world(MULTI, logs=logs), "Failed")
    assert attempt.job is not None
    del attempt.job["status"]["conditions"]
    attempt.pods = tuple(pod("node", index, phase="Failed") for index in pods)
    return attempt


LIFECYCLE = log([line for line in TRAINING if not line[1].startswith("step")])


def test_a_failed_attempt_that_the_job_tells_of_is_read_at_once_so_that_the_next_one_can_begin() -> None:
    running = world(MULTI, logs={FIRST: LIFECYCLE})
    running.sync(200)
    before = dict(running.status)
    over = failed_attempt(pods=(0,), logs={FIRST: LIFECYCLE})
    over.status, over.told = before, "uid-w0"
    over.sync(205)
    assert over.status["run"]["finished"] is True


def test_a_checkpoint_counts_although_the_pod_that_printed_the_steps_went_with_the_failure() -> None:
    left = failed_attempt(pods=(0,), logs={FIRST: LIFECYCLE})
    left.sync(260)
    assert (left.status["lastCheckpointStep"], left.status["run"]["finished"]) == (10, True)
    assert "highestStep" not in left.status


def test_a_checkpoint_counts_although_the_log_of_the_steps_cannot_be_read() -> None:
    left = failed_attempt(pods=(0, 1), logs={FIRST: LIFECYCLE})
    assert left.sync(260).resync_after == 15
    assert left.status["lastCheckpointStep"] == 10
    assert left.condition("Measuring")["reason"] == "FinalReadPending"
    assert "finished" not in left.status["run"]


def test_while_another_attempt_may_follow_a_log_is_tried_for_as_long_as_the_job_waits() -> None:
    left = failed_attempt(pods=(0, 1), logs={})
    for seconds in range(260, 1000, 15):
        assert left.sync(seconds).resync_after == 15
    left.logs = {FIRST: LIFECYCLE, LAST: b""}
    left.sync(1000)
    assert (left.status["lastCheckpointStep"], left.status["run"]["finished"]) == (10, True)


def test_pods_of_a_failed_attempt_are_looked_for_past_every_snapshot() -> None:
    left = failed_attempt(pods=(0,), logs={FIRST: LIFECYCLE})
    left.sync(260)
    assert [read.fresh for read in left.seen if isinstance(read, ListPods)] == [True]


def test_a_lost_status_write_changes_nothing_in_the_end() -> None:
    running = world(logs={FIRST: until(TRAINING, 100), LAST: b""})
    running.sync(110)
    older = running.parent()
    running.logs = {FIRST: until(TRAINING, 160), LAST: b""}
    running.sync(170)
    newer = dict(running.status)
    running.sync(170, parent=older)
    assert running.status == newer


@pytest.mark.parametrize(
    "spec", [{"jobRef": {"kind": "Pod", "name": "x"}}, {"sampleInterval": "-1s"}, {"logProfileRef": ""}]
)
def test_a_bad_spec_is_a_condition(spec: dict[str, Any]) -> None:
    running = world(spec=spec)
    running.sync(20)
    assert running.condition("Measuring")["reason"] == "InvalidSpec"
    assert running.seen == []


def test_the_sample_log_of_megatron_is_measured() -> None:
    lines = example("megatron-training.log")
    done = ended(
        world(shipped("megatron-training"), logs={FIRST: stamped(lines, step=8), LAST: stamped(lines, step=8)}), end=820
    )
    done.sync(900)
    assert outcome(done)[0] == "JobSucceeded"
    assert (done.status["highestStep"], done.status["lastCheckpointStep"]) == (600, 600)
    assert done.status["avgStepTimeSec"] == pytest.approx(1.2113, abs=1e-4)
    assert done.status["avgTFLOPsPerGPU"] == pytest.approx(612.76, abs=0.01)
    assert done.status["resumeTimeSec"] == 28 * 8, "the 28 lines before the first step, as the kubelet stamped them"
    assert done.status["result"] == pytest.approx((820 - 224 - 3 * 8) / 820, abs=0.02)
