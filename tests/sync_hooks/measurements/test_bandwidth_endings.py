"""How BandwidthMeasurements end: with what was measured, or with the reason why nothing was."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sync_hooks.api.sync import ListPods, ReadLog
from tests.sync_hooks.measurements.bandwidths import MESSAGE, POD, TABLE, ended, finished, outcome, peak, world
from tests.sync_hooks.measurements.tables import SWEEP, Result, table
from tests.sync_hooks.measurements.worlds import at, example, job, jobset, kubelet, pod, stamp, stamped


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
    filler = [
        f"gpu-{index % 16:04}:1:2 [0] NCCL INFO Channel {index} via P2P/CUMEM/read ......" for index in range(3000)
    ]
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
    assert "doubts" not in done.status, "a test that did not end has no end"


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


def test_a_job_that_is_gone_or_another_ends_the_measurement() -> None:
    for replacement in (None, job(uid="uid-of-another")):
        running = world()
        running.sync(20)
        running.job = replacement
        running.sync(100)
        assert outcome(running)[0] == "LogsUnavailable"
        assert "summary" not in running.status


def test_a_table_in_a_log_without_its_beginning_counts_with_a_note() -> None:
    late = finished(logs={POD: stamped(TABLE, start=100)})
    late.sync(200)
    assert (outcome(late)[0], late.status["rowsSeen"]) == ("JobSucceeded", 32)
    assert late.status["notes"] == ["the log may lack earlier tables: it begins 100 s later than its container"]


def test_rows_of_a_failed_attempt_never_count_for_the_next_one_whatever_is_seen_in_between() -> None:
    running = world()
    running.sync(20)
    assert running.job is not None
    running.job["status"] = {"attempt": 1, "workloadPhase": "Pending"}  # the next TrainJob is still to be made
    running.sync(80)
    running.job, running.jobset = job("Succeeded", attempt=1, end=200), jobset(1)
    running.pods = (pod(attempt=1, phase="Succeeded"),)
    running.logs = {running.pods[0].name: stamped(["nothing of a table"], start=150)}
    running.sync(210)
    assert (outcome(running)[0], running.status.get("summary")) == ("NoDataCollected", None)


def test_rows_of_a_pod_from_before_a_suspension_do_not_count() -> None:
    running = world()
    running.sync(20)
    resumed, again = ended(running), pod(phase="Succeeded")
    resumed.pods = (replace(again, metadata=replace(again.metadata, name="resumed")),)
    resumed.logs = {"resumed": stamped(["nothing of a table"], start=150)}
    resumed.sync(210)
    assert (outcome(running)[0], running.status.get("summary")) == ("NoDataCollected", None)


def test_a_failed_attempt_is_waited_out_while_another_may_follow() -> None:
    running = world()
    running.sync(20)
    assert running.job is not None
    running.job["status"] |= {"workloadPhase": "Failed", "workloadEndTime": stamp(60)}
    running.pods = (pod(phase="Failed"),)
    running.sync(100)
    assert running.condition("Complete") == {}
    assert running.condition("Measuring")["reason"] == "AttemptFailed"


def test_one_second_of_log_larger_than_the_largest_page_is_unavailable_at_once() -> None:
    second = b"".join(f"{kubelet(at(5))} {'x' * 80}\n".encode() for _ in range(50))
    done = finished(logs={POD: second + stamped(TABLE, start=10)}, limit=1000)
    done.run(100)
    reason, message = outcome(done)
    assert reason == "LogsUnavailable"
    assert "cannot be read in pages" in message
