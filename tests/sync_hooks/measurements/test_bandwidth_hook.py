"""BandwidthMeasurements from their first sample to their end."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.sync import GetLogProfile, GetObject, ListPods, ReadLog
from tests.sync_hooks.measurements.tables import SWEEP, Result, table
from tests.sync_hooks.measurements.worlds import World, at, example, job, jobset, kubelet, pod, stamp, stamped

POD = "job-w0-launcher-0-0"
MESSAGE = "gpu-0000:311:342 [0] NCCL INFO comm 0x55 rank 0 nranks 16 - Destroy COMPLETE"
TABLE = table(SWEEP)


def world(**more: Any) -> World:
    """A Job that runs and has printed a whole table."""
    fields = {"spec": {"testType": "all_reduce", "ranks": 16}, "logs": {POD: stamped(TABLE)}, **more}
    return World(**fields)


def ended(running: World, phase: str = "Succeeded", end: float = 60) -> World:
    running.job = job(phase, end=end, **running.job["spec"] if running.job else {})
    running.pods = (pod(phase=phase),)
    return running


def finished(**more: Any) -> World:
    return ended(world(**more))


def outcome(done: World) -> tuple[str, str]:
    complete = done.condition("Complete")
    assert complete.get("status") == "True", done.status
    assert done.condition("Measuring")["reason"] == complete["reason"]
    return complete["reason"], complete["message"]


def peak(done: World) -> float | None:
    value: float | None = done.status.get("summary", {}).get("peakBusBandwidthGBps")
    return value


def test_a_finished_job_is_measured_in_one_sync() -> None:
    done = finished()
    assert done.sync(100).resync_after == 0
    assert outcome(done) == ("JobSucceeded", "32 rows of 32 sizes were read")
    assert (peak(done), done.status["rowsSeen"], done.status["wrongCount"]) == (480, 32, 0)
    assert done.status["completionTime"] == stamp(60)
    assert "reading" not in done.status
    assert "finalReading" not in done.status


def test_a_complete_measurement_is_never_touched_again_and_nothing_is_read() -> None:
    done = finished()
    done.sync(100)
    before = dict(done.status)
    done.logs, done.job = {}, None
    assert done.sync(10_000).resync_after == 0
    assert (done.status, done.seen) == (before, [])


def test_nothing_is_read_before_the_next_sample_is_due() -> None:
    running = world()
    assert running.sync(20).resync_after == 60
    before, version = dict(running.status), running.version
    assert running.sync(50).resync_after == 30
    assert (running.status, running.version, running.seen) == (before, version, [])
    running.sync(80)
    assert {type(read) for read in running.seen} == {GetObject, GetLogProfile, ListPods, ReadLog}


@pytest.mark.parametrize(("given", "seconds"), [("30s", 30), ("10m", 120), (None, 60)])
def test_the_interval_is_kept_up_to_two_minutes(given: str | None, seconds: float) -> None:
    running = world(spec={"testType": "all_reduce", **({"sampleInterval": given} if given else {})})
    assert running.sync(20).resync_after == seconds


def test_a_stamp_from_the_future_does_not_stop_the_samples() -> None:
    running = world(status={"lastSampleTime": stamp(10_000)})
    running.sync(20)
    assert running.status["lastSampleTime"] == stamp(20)


def test_samples_read_on_and_count_no_row_twice() -> None:
    running = world()
    for seconds, lines in ((2, 10), (62, 20), (122, 30), (182, len(TABLE))):
        running.logs = {POD: stamped(TABLE[:lines])}
        running.sync(seconds)
        assert running.condition("Measuring")["reason"] == "JobRunning"
    assert (running.status["rowsSeen"], peak(running)) == (32, 480)
    assert all(item["samples"] == 1 for item in running.status["results"])
    since = [read.since for read in running.seen if isinstance(read, ReadLog)]
    assert since[0] is not None


def test_a_lost_status_write_changes_nothing_in_the_end() -> None:
    running = world(logs={POD: stamped(TABLE[:20])})
    running.sync(10)
    older = running.parent()
    running.logs = {POD: stamped(TABLE)}
    running.sync(70)
    newer = dict(running.status)
    running.sync(70, parent=older)
    assert running.status == newer


def test_the_final_read_replaces_what_was_provisional() -> None:
    running = world(logs={POD: stamped(TABLE[:20])})
    running.sync(10)
    assert running.status["rowsSeen"] == 16
    running.logs = {POD: stamped(TABLE)}
    ended(running).sync(100)
    assert (running.status["rowsSeen"], peak(running)) == (32, 480)
    assert running.status["startTime"] == stamp(10)


@pytest.mark.parametrize("limit", [400, 1000, 5000])
def test_a_long_log_is_read_page_by_page(limit: int) -> None:
    done = finished(limit=limit)
    last = done.run(100)
    assert outcome(done)[0] == "JobSucceeded"
    assert (done.status["rowsSeen"], peak(done), done.status["wrongCount"]) == (32, 480, 0)
    assert last > 100


def test_a_long_log_is_read_page_by_page_while_it_runs() -> None:
    running = world(limit=1000)
    seconds = 100.0
    while running.status.get("lastSampleTime") is None:
        seconds += running.sync(seconds).resync_after
    assert (running.status["rowsSeen"], peak(running)) == (32, 480)


def test_rows_seen_before_the_log_was_rotated_survive() -> None:
    running = world()
    running.sync(20)
    teardown = stamped([MESSAGE] * 90, start=400)
    running.logs = {POD: teardown}
    ended(running, end=450).sync(500)
    assert outcome(running)[0] == "JobSucceeded"
    assert (running.status["rowsSeen"], peak(running)) == (32, 480)
    assert "rotated away" in str(running.status["notes"])


def test_rows_seen_before_and_rows_of_what_is_left_make_the_whole() -> None:
    running = world(logs={POD: stamped(TABLE[:20])})
    running.sync(10)
    whole = stamped(TABLE)
    running.logs = {POD: b"".join(whole.splitlines(keepends=True)[12:])}
    ended(running).sync(100)
    assert (running.status["rowsSeen"], peak(running)) == (32, 480)


def test_a_table_that_was_rotated_away_before_it_was_seen_is_no_zero() -> None:
    done = finished(logs={POD: stamped([MESSAGE] * 90, start=400)})
    done.job = job("Succeeded", end=450)
    done.sync(500)
    reason, message = outcome(done)
    assert reason == "NoDataCollected"
    assert "the table is no longer in the log" in message
    assert (peak(done), done.status.get("results")) == (None, None)


def test_a_table_deep_in_a_large_log_is_found() -> None:
    filler = [f"gpu-{index % 16:04}:1:2 [0] NCCL INFO Channel {index} via P2P/CUMEM/read ......" for index in range(3000)]
    done = finished(logs={POD: stamped([*filler[:600], *TABLE, *filler[600:]], step=0.01)}, limit=1 << 20)
    done.run(100)
    assert (done.status["rowsSeen"], peak(done)) == (32, 480)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param([MESSAGE], "the log holds no table", id="no table"),
        pytest.param(table(SWEEP, test="broadcast"), "only some of broadcast", id="another collective's"),
        pytest.param([line.strip()[3:] for line in TABLE if "sum" in line], "none that could be read", id="damaged"),
        pytest.param([], "the log holds no table", id="empty"),
    ],
)
def test_no_rows_are_no_data_with_a_reason(lines: list[str], message: str) -> None:
    done = finished(logs={POD: stamped(lines)})
    done.sync(100)
    reason, text = outcome(done)
    assert reason == "NoDataCollected"
    assert message in text
    assert "summary" not in done.status


def test_wrong_values_and_sockets_are_reported_whatever_the_bandwidth() -> None:
    done = finished(logs={POD: stamped(table([Result(1 << 30, alg=250.0, last="12")]))})
    done.sync(100)
    assert done.status["wrongCount"] == 12
    done = finished(logs={POD: stamped(example("all-reduce-sockets.log"))})
    done.sync(200)
    assert (done.status["socketFallback"], done.status["transport"]) == (True, ["Socket"])


def test_a_failed_job_keeps_what_was_read() -> None:
    done = ended(world(logs={POD: stamped(TABLE[:20])}), "Failed")
    done.sync(100)
    assert outcome(done) == ("JobFailed", "the Job failed; 16 rows were read")


def test_a_failed_job_without_pods_ends_at_once_with_what_was_seen() -> None:
    running = world()
    running.sync(20)
    ended(running, "Failed")
    running.pods = ()
    running.sync(100)
    assert outcome(running)[0] == "JobFailed"
    assert running.status["rowsSeen"] == 32
    assert "provisional" in str(running.status["notes"])


def test_a_job_that_timed_out_is_read_while_its_pods_still_run() -> None:
    done = world()
    done.job = job("Failed", end=60)
    done.sync(100)
    assert outcome(done) == ("JobFailed", "the Job failed; 32 rows were read")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param({"failing": {ReadLog: "the log endpoint answered 500"}}, "answered 500", id="log"),
        pytest.param({"failing": {ListPods: "too many requests"}}, "too many requests", id="pods"),
        pytest.param({"pods": ()}, "no pods", id="no pods"),
        pytest.param({"jobset": None}, "does not exist", id="no JobSet"),
        pytest.param({"jobset": jobset(owner="uid-of-another")}, "not of this Job", id="another's JobSet"),
        pytest.param({"pods": (pod(),)}, "still runs", id="a pod that does not end"),
    ],
)
def test_what_cannot_be_read_is_tried_for_a_bounded_time_and_is_then_unavailable(
    broken: dict[str, Any], message: str
) -> None:
    running = world()
    running.sync(20)
    ended(running)
    for name, value in broken.items():
        setattr(running, name, value)
    assert running.sync(100).resync_after == 15
    assert running.condition("Measuring")["reason"] == "FinalReadPending"
    last = running.run(100)
    assert 220 <= last <= 280
    reason, text = outcome(running)
    assert reason == "LogsUnavailable"
    assert message in text
    assert running.status["rowsSeen"] == 32
    assert "summary" not in running.status, "nothing may be judged by provisional figures"


def test_a_log_that_can_be_read_again_in_time_is_read() -> None:
    done = finished(failing={ReadLog: "busy"})
    done.sync(100)
    done.failing = {}
    done.sync(115)
    assert outcome(done)[0] == "JobSucceeded"


def test_a_longer_measurement_timeout_gives_more_time() -> None:
    done = finished(failing={ReadLog: "busy"})
    done.job = job("Succeeded", end=60, measurementTimeout="20m")
    assert 700 <= done.run(100) <= 720


@pytest.mark.parametrize("read", [GetObject, GetLogProfile, ListPods, ReadLog])
def test_what_cannot_be_read_while_the_job_runs_changes_nothing(read: type) -> None:
    running = world()
    running.sync(20)
    before, version = dict(running.status), running.version
    running.failing = {read: "busy"}
    assert running.sync(100).resync_after == 15
    assert (running.status, running.version) == (before, version)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"job": None}, "JobNotFound", id="no Job yet"),
        pytest.param({"job": job("")}, "JobNotRunning", id="a Job without a phase"),
        pytest.param({"pods": ()}, "PodNotFound", id="no pod yet"),
        pytest.param({"pods": (pod(phase="Pending"),)}, "PodNotStarted", id="a pending pod"),
        pytest.param({"spec": {"logProfileRef": "none"}}, "LogProfileNotFound", id="no profile"),
        pytest.param({"spec": {"logProfileRef": "megatron-training"}}, "LogProfileInvalid", id="a profile without rows"),
    ],
)
def test_what_is_not_there_yet_is_waited_for_with_a_reason(changes: dict[str, Any], reason: str) -> None:
    running = world(**changes)
    assert running.sync(20).resync_after == 15
    condition = running.condition("Measuring")
    assert (condition["status"], condition["reason"]) == ("False", reason)
    before, version = dict(running.status), running.version
    running.sync(40)
    assert (running.status, running.version) == (before, version)


def test_a_broken_profile_is_named_with_its_field() -> None:
    regex = {"bandwidthResult": {"regex": "("}}
    running = world(profile={"timestamp": {"layout": "15:04:05"}, "patterns": regex})
    running.sync(20)
    condition = running.condition("Measuring")
    assert condition["reason"] == "LogProfileInvalid"
    assert "spec.patterns.bandwidthResult.regex" in condition["message"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"jobRef": {"kind": "Pod", "name": "x"}}, "spec.jobRef", id="not a Job"),
        pytest.param({"jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": ""}}, "spec.jobRef", id="no name"),
        pytest.param({"jobRef": 7}, "spec.jobRef", id="a number"),
        pytest.param({"sampleInterval": "often"}, "spec.sampleInterval", id="no duration"),
        pytest.param({"sampleInterval": "0s"}, "spec.sampleInterval", id="no time"),
        pytest.param({"logProfileRef": ""}, "spec.logProfileRef", id="no profile"),
        pytest.param({"surprise": 1}, "spec.surprise", id="an unknown field"),
    ],
)
def test_a_bad_spec_is_a_condition_with_the_field_and_reads_nothing(spec: dict[str, Any], field: str) -> None:
    running = world(spec=spec)
    assert running.sync(20).resync_after == 0
    condition = running.condition("Measuring")
    assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
    assert field in condition["message"]
    assert running.seen == []
    version = running.version
    running.sync(50)
    assert running.version == version


def test_a_job_that_is_gone_or_another_ends_the_measurement() -> None:
    for replacement in (None, job(uid="uid-of-another")):
        running = world()
        running.sync(20)
        running.job = replacement
        running.sync(100)
        assert outcome(running)[0] == "LogsUnavailable"
        assert "summary" not in running.status


def test_an_older_request_cannot_undo_the_end() -> None:
    running = world()
    running.sync(20)
    older = running.parent()
    ended(running).sync(100)
    final = dict(running.status)
    running.logs = {}
    answer = running.sync(400, parent=older)
    assert (running.status, answer.resync_after) == (final, 0.5)


def test_a_measurement_that_is_not_there_is_not_completed() -> None:
    done = finished()
    forged = done.parent()
    forged["metadata"]["uid"] = "uid-invented"
    result = done.sync(100, parent=forged)
    assert result.status == {}


def test_another_attempt_starts_from_nothing() -> None:
    running = world()
    running.sync(20)
    running.job, running.jobset = job(attempt=1), jobset(1)
    running.pods = (pod(attempt=1, started=200),)
    running.logs = {"job-w1-launcher-0-0": stamped(table(SWEEP[:3]), start=200)}
    running.sync(300)
    assert (running.status["rowsSeen"], running.status["workloadUID"]) == (3, "uid-w1")


def test_a_failed_attempt_is_waited_out_while_another_may_follow() -> None:
    running = world()
    running.sync(20)
    assert running.job is not None
    running.job["status"] |= {"workloadPhase": "Failed", "workloadEndTime": stamp(60)}
    running.pods = (pod(phase="Failed"),)
    running.sync(100)
    assert running.condition("Complete") == {}
    assert running.condition("Measuring")["reason"] == "AttemptFailed"


def test_keys_of_a_newer_version_are_kept() -> None:
    running = world(status={"invented": {"later": 1}, "rowsSeen": "many"})
    running.sync(20)
    assert running.status["invented"] == {"later": 1}
    assert running.status["rowsSeen"] == 32


def test_a_line_being_written_is_left_for_the_next_sample() -> None:
    whole = stamped(TABLE)
    cut = whole[: whole.rindex(b" 17179869184") + 60] + b"\n"
    running = world(logs={POD: cut})
    last = whole[: len(cut)].count(b"\n") * 0.25
    running.sync(last + 0.5)
    assert running.status["rowsSeen"] == 31
    running.logs = {POD: whole}
    running.sync(200)
    assert (running.status["rowsSeen"], running.status["reading"].get("unread")) == (32, None)


def test_every_zone_of_a_node_gives_the_same_result() -> None:
    found = []
    for zone in ("Z", "-07:00", "+05:30"):
        done = finished(logs={POD: stamped(TABLE, zone=zone)}, limit=1500)
        done.run(100)
        found.append({name: done.status[name] for name in ("results", "summary", "rowsSeen")})
    assert found[0] == found[1] == found[2]
    assert found[0]["rowsSeen"] == 32


def test_one_second_of_log_larger_than_the_largest_page_is_unavailable_at_once() -> None:
    second = b"".join(f"{kubelet(at(5))} {'x' * 80}\n".encode() for _ in range(50))
    done = finished(logs={POD: second + stamped(TABLE, start=10)}, limit=1000)
    done.run(100)
    reason, message = outcome(done)
    assert reason == "LogsUnavailable"
    assert "cannot be read in pages" in message
