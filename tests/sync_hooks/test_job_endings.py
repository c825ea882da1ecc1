"""What ends or restarts a workload from outside: its nodes, a stall, a checkpoint to go on from."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.sync import GetObject, ListNodes, ListPods
from tests.support.hooks import condition, manifest, pod
from tests.sync_hooks.test_job import (
    ATTEMPT,
    JOBSET,
    NAME,
    NOT_READY,
    NOTHING_THERE,
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


def goodput(**status: Any) -> dict[str, Any]:
    return manifest("GoodputMeasurement", f"{NAME}-goodput", status=status)


# Node health


def test_a_node_that_fails_under_a_workload_ends_it_and_is_blamed_by_name():
    observed = {JOBSET: jobset(), PODS: RUNNING, ListNodes(): (bad_node("n1"), node("n2"))}
    answer = sync(parent(**HEALTH), [train_job()], observed)
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
    with_checkpoint = parent(**HEALTH, **CHECKPOINT)
    observed = {JOBSET: jobset(), PODS: RUNNING, ListNodes(): (bad_node("n1"),)}
    answer = sync(with_checkpoint, [train_job(), goodput(lastCheckpointStep=20)], observed)
    assert states(answer)["Failed"] == "True"


# Checkpoint restarts


def failed_with(*children: dict[str, Any], **spec: Any):
    failed = train_job(condition("Failed", reason="JobsFailed"))
    return sync(parent(**{**CHECKPOINT, **spec}), [failed, *children], {JOBSET: jobset()})


def test_a_failure_with_a_checkpoint_and_an_attempt_left_is_restarted_under_a_new_name():
    first = failed_with(goodput(lastCheckpointStep=20))
    assert reason(first, "InProgress") == "WorkloadRestarting"
    assert [child["kind"] for child in first.children] == ["GoodputMeasurement", "TrainJob"]
    restarting = parent(first.status, **CHECKPOINT)
    read = goodput(lastCheckpointStep=20, run={"workloadUID": f"uid-{ATTEMPT}", "finished": True})
    dropped = sync(restarting, [train_job(), read], {})
    assert [child["kind"] for child in dropped.children] == ["GoodputMeasurement"]
    assert dropped.status["attempt"] == 1
    assert "workloadRef" not in dropped.status


def test_the_failed_attempt_stays_until_its_log_has_been_read_or_the_time_is_over():
    first = failed_with(goodput(lastCheckpointStep=20))
    restarting = parent(first.status, **CHECKPOINT)
    waiting = sync(restarting, [train_job(), goodput(lastCheckpointStep=20)], {}, seconds=60)
    assert [child["kind"] for child in waiting.children] == ["GoodputMeasurement", "TrainJob"]
    late = sync(restarting, [train_job(), goodput(lastCheckpointStep=20)], {}, seconds=301)
    assert late.status["attempt"] == 0  # after an outage, or a clock that jumped, there is a second look
    over = sync(parent(late.status, **CHECKPOINT), [train_job(), goodput(lastCheckpointStep=20)], {}, seconds=332)
    assert over.status["attempt"] == 1


def finished(**status: Any) -> dict[str, Any]:
    return goodput(**status, run={"workloadUID": f"uid-{ATTEMPT}", "finished": True})


def test_a_checkpoint_that_was_saved_after_the_last_look_at_the_log_counts():
    first = failed_with(goodput())
    assert reason(first, "InProgress") == "WorkloadRestarting"
    answer = sync(parent(first.status, **CHECKPOINT), [train_job(), finished(lastCheckpointStep=20)], {})
    assert answer.status["attempt"] == 1


def test_without_a_checkpoint_the_attempt_has_failed_once_its_log_has_been_read():
    first = failed_with(goodput())
    answer = sync(parent(first.status, **CHECKPOINT), [train_job(), finished()], {})
    assert reason(answer, "Failed") == "WorkloadFailed"
    assert [child["kind"] for child in answer.children] == ["GoodputMeasurement", "TrainJob"]  # its evidence


@pytest.mark.parametrize("spec", [{"checkpoint": {"pvcName": "pvc"}}, {"goodputMeasurement": None}], ids=str)
def test_without_an_attempt_left_or_a_measurement_there_is_no_restart(spec: dict[str, Any]):
    assert states(failed_with(goodput(lastCheckpointStep=20), **spec))["Failed"] == "True"


# Stalls

STALL = {"stallMultiplier": 3, "goodputMeasurement": {"logProfileRef": "megatron", "sampleInterval": "10s"}}


def watched(seconds: int, **status: Any):
    start = {"workloadStartTime": "2026-01-01T12:00:00Z", "workloadPhase": "Running"}
    observed = {JOBSET: jobset(), PODS: RUNNING}
    return sync(parent(start, **STALL), [train_job(), goodput(**status)], observed, seconds=seconds)


def test_steps_that_stop_coming_are_a_stall():
    steps = {"lastStepTimestamp": "2026-01-01T12:10:00Z", "avgStepTimeSec": 5, "logInterval": 2}
    early = watched(640, **steps, lastSampleTime="2026-01-01T12:10:35Z")
    assert states(early)["InProgress"] == "True"
    late = watched(700, **steps, lastSampleTime="2026-01-01T12:11:35Z")
    assert reason(late, "Failed") == "WorkloadStalled"


def test_a_measurement_that_has_not_been_reading_proves_no_stall():
    steps = {"lastStepTimestamp": "2026-01-01T12:10:00Z", "avgStepTimeSec": 5}
    assert states(watched(3000, **steps, lastSampleTime="2026-01-01T12:10:05Z"))["InProgress"] == "True"


def test_a_workload_without_a_first_step_stalls_after_the_start_up_time():
    sampled = {"lastSampleTime": "2026-01-01T12:20:30Z"}
    assert reason(watched(1231, **sampled), "Failed") == "WorkloadStalled"


def test_a_restarted_attempt_waits_for_the_pods_of_the_one_before():
    job_ = parent({"attempt": 1}, **CHECKPOINT)
    later = f"{NAME}-w1"
    before = ListPods("default", ATTEMPT, fresh=True)
    observed = {
        **NOTHING_THERE,
        GetObject("trainer.kubeflow.org/v1alpha1", "TrainJob", later, "default"): None,
        GetObject("jobset.x-k8s.io/v1alpha2", "JobSet", later, "default"): None,
    }
    busy = sync(job_, [goodput()], observed | {before: RUNNING})
    assert [child["kind"] for child in busy.children] == ["GoodputMeasurement"]
    free = sync(job_, [goodput()], observed | {before: ()})
    assert later in [child["metadata"]["name"] for child in free.children]
