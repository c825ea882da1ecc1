"""What ends a workload from outside: its nodes, a stall."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sync_hooks.api.sync import GetObject, ListNodes, Observed, Result, Unreadable
from sync_hooks.api.time import rfc3339
from tests.support.hooks import condition, live, manifest, pod
from tests.sync_hooks.test_job import (
    FRESH,
    JOBSET,
    NAME,
    NOT_READY,
    NOW,
    PODS,
    jobset,
    parent,
    reason,
    states,
    sync,
    train_job,
)
from tests.sync_hooks.test_workflow import node

HEALTH = {"nodeHealthMonitor": {"cel": {"expression": NOT_READY}}}
CHECKPOINT = {"checkpoint": {"pvcName": "pvc", "maxRestarts": 1}, "goodputMeasurement": {"logProfileRef": "megatron"}}
RUNNING = (pod("p", node="n1"),)


def bad_node(name: str):
    good = node(name)
    return type(good)(metadata=good.metadata, spec=good.spec, status=type(good.status)(conditions=(lost(),)))


def lost():
    return node("x").status.conditions[0].__class__(type="Ready", status="Unknown")


NO_HEARTBEAT = {"conditions": [condition("Ready", "Unknown")]}
BROKEN = {GetObject("v1", "Node", "n1"): live(manifest("Node", "n1", status=NO_HEARTBEAT))}


def seen_twice(children: list[dict[str, Any]], observed: Observed, **spec: Any) -> Result:
    """Look at a Job, and again after half a minute: what is seen of a node but once does not count."""
    first = sync(parent(**spec), children, observed)
    return sync(parent(dict(first.status), **spec), children, observed, seconds=31)


def goodput(**status: Any) -> dict[str, Any]:
    return manifest("GoodputMeasurement", f"{NAME}-goodput", status=status)


# Node health


def test_a_node_that_fails_under_a_workload_ends_it_and_is_blamed_by_name():
    observed = {JOBSET: jobset(), PODS: RUNNING, ListNodes(): (bad_node("n1"), node("n2")), **BROKEN}
    answer = seen_twice([train_job()], observed, **HEALTH)
    assert (states(answer)["HardwareFailed"], reason(answer, "Failed")) == ("True", "HardwareFailureDetected")
    assert [found["name"] for found in answer.status["failedNodes"]] == ["n1"]
    settled = sync(parent(answer.status, **HEALTH), [train_job()], observed)
    assert settled.status["attribution"] == "Node"
    assert [found["name"] for found in settled.status["failedNodes"]] == ["n1"]


def test_nodes_of_other_workloads_do_not_matter():
    observed = {JOBSET: jobset(), PODS: RUNNING, ListNodes(): (node("n1"), bad_node("n9"))}
    assert states(sync(parent(**HEALTH), [train_job()], observed))["InProgress"] == "True"


def test_an_expression_that_cannot_be_evaluated_is_said_and_blames_nobody():
    broken = {"nodeHealthMonitor": {"cel": {"expression": "node.nothing.at.all"}}}
    observed = {JOBSET: jobset(), PODS: RUNNING, ListNodes(): (node("n1"),)}
    answer = sync(parent(**broken), [train_job()], observed)
    assert states(answer)["HardwareFailed"] == "Unknown"
    assert states(answer)["InProgress"] == "True"


def test_a_failed_node_is_not_restarted_on():
    observed = {JOBSET: jobset(), PODS: RUNNING, ListNodes(): (bad_node("n1"),), **BROKEN}
    answer = seen_twice([train_job(), goodput(lastCheckpointStep=20)], observed, **HEALTH, **CHECKPOINT)
    assert states(answer)["Failed"] == "True"


# Stalls

STALL = {"stallMultiplier": 3, "goodputMeasurement": {"logProfileRef": "megatron", "sampleInterval": "10s"}}
STEPS = {"lastStepTimestamp": "2026-01-01T12:10:00Z", "avgStepTimeSec": 5, "logInterval": 2}


def watched(seconds: int, **status: Any):
    start = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    observed = {JOBSET: jobset(), PODS: RUNNING}
    return sync(parent(start, **STALL), [train_job(), goodput(**status)], observed, seconds=seconds)


def test_steps_that_stop_coming_are_a_stall():
    early = watched(640, **STEPS, lastSampleTime="2026-01-01T12:10:35Z")
    assert states(early)["InProgress"] == "True"
    late = watched(700, **STEPS, lastSampleTime="2026-01-01T12:11:35Z")
    assert reason(late, "Failed") == "WorkloadStalled"


@pytest.mark.parametrize(("seconds", "expected"), [(650, "InProgress"), (651, "Failed")], ids=["in time", "too late"])
def test_a_stall_is_longer_than_the_steps_that_may_be_late_and_two_looks(seconds: int, expected: str):
    assert states(watched(seconds, **STEPS, lastSampleTime="2026-01-01T12:10:45Z"))[expected] == "True"


def test_a_measurement_that_has_not_been_reading_proves_no_stall():
    steps = {"lastStepTimestamp": "2026-01-01T12:10:00Z", "avgStepTimeSec": 5}
    assert states(watched(3000, **steps, lastSampleTime="2026-01-01T12:10:05Z"))["InProgress"] == "True"


@pytest.mark.parametrize(
    ("sampled", "expected"),
    [
        pytest.param("2026-01-01T12:11:20Z", "Failed", id="two intervals ago"),
        pytest.param("2026-01-01T12:11:19Z", "InProgress", id="longer ago"),
    ],
)
def test_a_stall_is_proved_by_a_look_of_the_last_two_intervals(sampled: str, expected: str):
    assert states(watched(700, **STEPS, lastSampleTime=sampled))[expected] == "True"


def test_the_clock_of_a_workload_goes_on_when_its_pods_vanish():
    started = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    answer = sync(parent(started), [train_job()], {JOBSET: jobset(), PODS: (), ListNodes(): ()}, seconds=3601)
    assert reason(answer, "Failed") == "JobTimedOut"


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        pytest.param("13m", "WorkloadStalled", id="the stall came first"),
        pytest.param("10m10s", "JobTimedOut", id="the time was over first"),
    ],
)
def test_of_a_stall_and_the_end_of_the_time_what_came_first_counts_whenever_it_is_seen(timeout: str, expected: str):
    start = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    measured = goodput(**STEPS, lastSampleTime="2026-01-01T12:14:55Z")
    late = sync(
        parent(start, **STALL, timeout=timeout), [train_job(), measured], {JOBSET: jobset(), PODS: RUNNING}, seconds=900
    )
    assert reason(late, "Failed") == expected


def test_a_workload_without_a_first_step_stalls_after_the_start_up_time():
    sampled = {"lastSampleTime": "2026-01-01T12:20:30Z"}
    assert reason(watched(1231, **sampled), "Failed") == "WorkloadStalled"


@pytest.mark.parametrize(("seconds", "expected"), [(320, "InProgress"), (321, "Failed")], ids=["in time", "too late"])
def test_a_run_says_how_long_its_first_step_may_take(seconds: int, expected: str):
    start = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    job_ = parent(start, **STALL, startupStallTimeoutSeconds=300)
    sampled = goodput(lastSampleTime="2026-01-01T12:05:10Z")
    answer = sync(job_, [train_job(), sampled], {JOBSET: jobset(), PODS: RUNNING}, seconds=seconds)
    assert states(answer)[expected] == "True"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(705, "InProgress", id="just started again"),
        pytest.param(660 + 1220, "InProgress", id="the start-up time is not over"),
        pytest.param(660 + 1221, "Failed", id="no first step in the start-up time"),
    ],
)
@pytest.mark.parametrize("seen", [STEPS, {}], ids=["a step was seen before", "no step was seen before"])
def test_pods_that_were_made_anew_may_start_up_once_more(seen: dict[str, Any], seconds: int, expected: str):
    sampled = {"lastSampleTime": rfc3339(NOW + timedelta(seconds=seconds - 5))}
    anew = {JOBSET: jobset(), PODS: (pod("q", node="n1", startTime="2026-01-01T12:11:00Z"),)}
    started = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    answer = sync(parent(started, **STALL, timeout="24h"), [train_job(), goodput(**seen, **sampled)], anew, seconds)
    assert states(answer)[expected] == "True"


def test_no_stall_is_seen_while_pods_are_not_there_or_cannot_be_read():
    started = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    measured = goodput(**STEPS, lastSampleTime="2026-01-01T12:11:35Z")
    for pods in ((), Unreadable("timeout")):
        observed = {JOBSET: jobset(), PODS: pods, ListNodes(): ()}
        answer = sync(parent(started, **STALL), [train_job(), measured], observed, seconds=700)
        assert states(answer)["InProgress"] == "True"


# Pods that ran to the end, while nobody says so


def done(name: str, at: str, role: str = "node"):
    statuses = [{"name": "node", "state": {"terminated": {"exitCode": 0, "finishedAt": at}}}]
    return pod(name, node="n1", role=role, phase="Succeeded", containerStatuses=statuses)


def looked_at(pods: tuple[Any, ...], *moments: float):
    """Look at these moments, in seconds after the start, one after the other; the time is over after 3600."""
    status: dict[str, Any] = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    for seconds in moments:
        answer = sync(parent(status), [train_job()], {JOBSET: jobset(), PODS: pods}, seconds=seconds)
        status = answer.status
    return answer


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param((done("a", "2026-01-01T12:59:00Z"), done("b", "2026-01-01T13:00:00Z")), id="every pod"),
        pytest.param((done("l", "2026-01-01T12:59:00Z", "launcher"), pod("w", node="n1")), id="the launcher"),
    ],
)
def test_a_workload_that_ran_to_its_end_in_time_has_not_timed_out(pods: tuple[Any, ...]):
    answer = looked_at(pods, 3590, 3660, 3800)
    assert states(answer)["InProgress"] == "True"
    assert answer.status["waiting"]["reason"] == "CompletionPending"
    ended = sync(
        parent(answer.status), [train_job(condition("Complete"))], {JOBSET: jobset(), PODS: pods}, seconds=3810
    )
    assert states(ended)["Succeeded"] == "True"


def test_a_measurement_that_is_not_there_yet_is_made_when_the_end_is_told():
    pods, wanted = (done("a", "2026-01-01T12:30:00Z"),), {"bandwidthMeasurement": {"logProfileRef": "nccl"}}
    status = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    before = sync(parent(status, **wanted), [train_job()], {JOBSET: jobset(), PODS: pods}, seconds=1800)
    assert {child["kind"] for child in before.children} == {"TrainJob"}
    told = parent(before.status, **wanted)
    late = sync(told, [train_job()], {JOBSET: jobset(), PODS: pods}, seconds=1861)
    assert "BandwidthMeasurement" in {child["kind"] for child in late.children}
    after = sync(told, [train_job(condition("Complete"))], {JOBSET: jobset(), PODS: pods, FRESH: pods}, seconds=1810)
    [made] = [child for child in after.children if child["kind"] == "BandwidthMeasurement"]
    assert made["metadata"]["annotations"] == {"cre.nvidia.com/workload-ended": before.status["workloadRef"]["uid"]}


def test_where_nobody_ever_says_that_it_ended_no_node_is_to_blame():
    pods = (done("a", "2026-01-01T12:59:00Z"),)
    answer = looked_at(pods, 3590, 3900, 3931, 3962)
    assert reason(answer, "Failed") == "CompletionNotReported"
    assert sync(parent(answer.status), [train_job()], {FRESH: pods}, seconds=3970).status["attribution"] == "None"


def test_a_workload_that_ended_after_its_time_has_timed_out():
    assert reason(looked_at((done("a", "2026-01-01T13:00:30Z"),), 3590, 3660), "Failed") == "JobTimedOut"
