"""BandwidthMeasurements from their first sample to their end."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.sync import Busy, GetLogProfile, GetObject, ListPods, ReadLog
from tests.sync_hooks.measurements.bandwidths import POD, TABLE, ended, finished, outcome, peak, world
from tests.sync_hooks.measurements.tables import SWEEP, table
from tests.sync_hooks.measurements.worlds import job, jobset, pod, stamp, stamped


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


def test_an_end_that_the_job_tells_of_is_read_at_once() -> None:
    running = world()
    running.sync(20)
    running.told = "uid-w0"
    assert running.job is not None
    running.job["status"] |= {"workloadPhase": "Succeeded", "workloadEndTime": stamp(25)}
    running.pods = (pod(phase="Succeeded"),)
    running.sync(30)
    assert running.condition("Complete")["reason"] == "JobSucceeded"


@pytest.mark.parametrize("reference", [{"name": "job-w0", "uid": "uid-w0"}, None], ids=["noted", "not noted"])
def test_an_end_that_is_told_before_the_job_shows_it_is_waited_for_without_reading(reference) -> None:
    running = world()
    running.sync(20)
    assert running.job is not None
    running.job["status"]["workloadRef"] = reference
    running.told = "uid-w0"
    assert running.ask(30) == Busy("the Job tells of an end that it has not written down yet", 1, passing=True)
    assert {type(read) for read in running.seen} == {GetObject, GetLogProfile}


def test_a_word_of_an_end_that_never_comes_stops_no_samples() -> None:
    running = world()
    running.sync(20)
    running.told = "uid-w0"
    assert running.sync(81).resync_after == 60
    assert running.status["lastSampleTime"] == stamp(81)


def test_an_end_of_another_attempt_hurries_nobody() -> None:
    running = world()
    running.sync(20)
    running.told = "uid-of-the-attempt-before"
    assert running.sync(50).resync_after == 30
    assert running.seen == []


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
        pytest.param(
            {"spec": {"logProfileRef": "megatron-training"}}, "LogProfileInvalid", id="a profile without rows"
        ),
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
        pytest.param(
            {"jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": ""}}, "spec.jobRef", id="no name"
        ),
        pytest.param({"jobRef": 7}, "spec.jobRef", id="a number"),
        pytest.param({"sampleInterval": "often"}, "spec.sampleInterval", id="no duration"),
        pytest.param({"sampleInterval": "0s"}, "spec.sampleInterval", id="no time"),
        pytest.param({"logProfileRef": ""}, "spec.logProfileRef", id="no profile"),
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


def test_another_attempt_starts_from_nothing() -> None:
    running = world()
    running.sync(20)
    running.job, running.jobset = job(attempt=1), jobset(1)
    running.pods = (pod(attempt=1, started=200),)
    running.logs = {"job-w1-launcher-0-0": stamped(table(SWEEP[:3]), start=200)}
    running.sync(300)
    assert (running.status["rowsSeen"], running.status["workloadUID"]) == (3, "uid-w1")


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
