"""Restarts from a checkpoint: what must be known before, who failed the attempt before, what is remembered of it."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.observed import Log
from sync_hooks.api.sync import GetObject, ListNodes, ListPods, Read, Result, Unreadable
from sync_hooks.execution.blame import failures, log_read
from tests.support.hooks import condition, failed_pod, live, manifest, pod
from tests.sync_hooks.test_job import (
    ATTEMPT,
    FRESH,
    JOBSET,
    NAME,
    NOTHING_THERE,
    PODS,
    jobset,
    parent,
    reason,
    states,
    sync,
    train_job,
)
from tests.sync_hooks.test_job_endings import CHECKPOINT, HEALTH, RUNNING, goodput


def failed_with(*children: dict[str, Any], **spec: Any):
    failed = train_job(condition("Failed", reason="JobsFailed"))
    return sync(parent(**{**CHECKPOINT, **spec}), [failed, *children], {JOBSET: jobset()})


def test_a_failure_with_a_checkpoint_and_an_attempt_left_is_restarted_under_a_new_name():
    first = failed_with(goodput(lastCheckpointStep=20))
    assert reason(first, "InProgress") == "WorkloadRestarting"
    assert [child["kind"] for child in first.children] == ["GoodputMeasurement", "TrainJob"]
    restarting = parent(first.status, **CHECKPOINT)
    read = goodput(lastCheckpointStep=20, run={"workloadUID": f"uid-{ATTEMPT}", "finished": True})
    gone_on = sync(restarting, [train_job(), read], {})
    assert gone_on.status["attempt"] == 1
    assert "workloadRef" not in gone_on.status


def test_a_failed_attempt_goes_only_once_the_api_has_what_was_found_out_about_it():
    restarting = parent(failed_with(goodput(lastCheckpointStep=20)).status, **CHECKPOINT)
    first = sync(restarting, [train_job(), finished(lastCheckpointStep=20)], {})
    assert [child["kind"] for child in first.children] == ["GoodputMeasurement", "TrainJob"]
    assert (len(first.status["failedAttempts"]), first.resync_after) == (1, 1)
    later = f"{NAME}-w1"
    free = {
        GetObject("trainer.kubeflow.org/v1alpha1", "TrainJob", later, "default"): None,
        GetObject("jobset.x-k8s.io/v1alpha2", "JobSet", later, "default"): None,
    }
    then = sync(parent(first.status, **CHECKPOINT), [train_job(), finished(lastCheckpointStep=20)], free)
    assert ATTEMPT not in [child["metadata"]["name"] for child in then.children]


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


def test_a_failed_attempt_whose_deletion_was_lost_is_dropped_again_while_its_pods_are_waited_for():
    later = f"{NAME}-w1"
    observed = {
        GetObject("trainer.kubeflow.org/v1alpha1", "TrainJob", later, "default"): None,
        GetObject("jobset.x-k8s.io/v1alpha2", "JobSet", later, "default"): None,
        ListPods("default", ATTEMPT, fresh=True): RUNNING,
    }
    answer = sync(parent({"attempt": 1}, **CHECKPOINT), [train_job(), goodput()], observed)
    assert answer.status["waiting"]["reason"] == "WorkloadTerminating"
    assert [child["kind"] for child in answer.children] == ["GoodputMeasurement"]


def test_a_measurement_whose_creation_was_lost_is_asked_for_again_while_its_log_is_needed():
    restarting = failed_with()
    assert reason(restarting, "InProgress") == "WorkloadRestarting"
    asked = sync(parent(restarting.status, **CHECKPOINT), [train_job()], {})
    assert [child["kind"] for child in asked.children] == ["TrainJob", "GoodputMeasurement"]


def test_a_measurement_whose_creation_was_lost_is_asked_for_again():
    answer = sync(parent(**CHECKPOINT), [train_job()], {JOBSET: jobset(), PODS: RUNNING, ListNodes(): ()})
    assert "GoodputMeasurement" in [child["kind"] for child in answer.children]


@pytest.mark.parametrize("spec", [{"checkpoint": {"pvcName": "pvc"}}, {"goodputMeasurement": None}], ids=str)
def test_without_an_attempt_left_or_a_measurement_there_is_no_restart(spec: dict[str, Any]):
    assert states(failed_with(goodput(lastCheckpointStep=20), **spec))["Failed"] == "True"


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


# Who failed the attempt before

CRASHED = (failed_pod("p0", "n1"), failed_pod("p1", "n2", exit_code=137, at="2026-01-01T12:00:09Z"))
SAVED = {"lastCheckpointStep": 20, "run": {"workloadUID": f"uid-{ATTEMPT}", "finished": True}}
SAID = "pod p0 on node n1: container node exited with 1 (Error)"


def went_on(observed: dict[Read, Any], seconds: float = 0, **spec: Any) -> Result:
    """The answer once the log of a failed attempt has been read, which saved a checkpoint."""
    first = failed_with(goodput(lastCheckpointStep=20), **spec)
    world = {JOBSET: jobset(), **observed}
    return sync(parent(first.status, **CHECKPOINT, **spec), [train_job(), goodput(**SAVED)], world, seconds)


def test_who_failed_an_attempt_is_found_out_before_it_goes():
    told = (*CRASHED, pod("p2", node="n2"))
    answer = went_on({FRESH: told, log_read(failures(told)[0]): Log(content=b"NVRM: Xid 79\n")})
    assert answer.status["attempt"] == 1
    [record] = answer.status["failedAttempts"]
    assert record == {
        "attempt": 0,
        "message": f"JobsFailed: ; {SAID}",
        "attribution": "Node",
        "failedNodes": [{"name": "n1", "reason": "WorkloadFailed", "message": SAID}],
    }
    assert answer.status["failureLog"]["tail"] == "NVRM: Xid 79\n"
    assert "failedNodes" not in answer.status  # nobody is blamed for a Job that goes on


def test_a_restart_is_told_as_an_event_with_its_cause():
    [event] = went_on({FRESH: CRASHED}).events
    assert (event.type, event.reason) == ("Warning", "WorkloadRestarting")
    assert event.message == f"restart 1 of 1 from the checkpoint of step 20: JobsFailed: ; {SAID}"


def test_a_node_that_is_found_broken_after_an_attempt_is_not_restarted_on():
    unready = live({**manifest("Node", "n1"), "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
    answer = went_on({FRESH: CRASHED, GetObject("v1", "Node", "n1"): unready}, **HEALTH)
    assert (states(answer)["HardwareFailed"], states(answer)["Failed"]) == ("True", "True")
    assert [child["kind"] for child in answer.children] == ["GoodputMeasurement", "TrainJob"]


def test_pods_that_cannot_be_read_hold_a_restart_up_for_a_minute_and_no_longer():
    broken = {FRESH: Unreadable("timeout")}
    held = went_on(broken, seconds=60)
    assert (held.status["attempt"], held.status.get("failedAttempts")) == (0, None)
    gone_on = went_on(broken, seconds=61)
    assert gone_on.status["attempt"] == 1
    assert gone_on.status["failedAttempts"][0]["attribution"] == "Group"


def test_an_attempt_without_a_checkpoint_has_no_record_for_no_other_follows_it():
    first = failed_with(goodput())
    world = {JOBSET: jobset(), FRESH: CRASHED}
    waiting = sync(parent(first.status, **CHECKPOINT), [train_job(), goodput()], world)
    assert len(waiting.status["failedAttempts"]) == 1
    ended = sync(parent(waiting.status, **CHECKPOINT), [train_job(), finished()], world)
    assert "failedAttempts" not in ended.status
    assert states(ended)["Failed"] == "True"


def test_the_latest_ten_attempts_are_remembered_in_short():
    records = [{"attempt": number, "message": "", "attribution": "None"} for number in range(10)]
    restarting = {
        "attempt": 10,
        "workloadPhase": "Failed",
        "failedAttempts": records,
        "conditions": [condition("InProgress", reason="WorkloadRestarting", message="x" * 5000)],
    }
    many = {**CHECKPOINT, "checkpoint": {"pvcName": "pvc", "maxRestarts": 100}}
    kept = sync(parent(restarting, **many), [goodput(lastCheckpointStep=20)], {}).status["failedAttempts"]
    assert [record["attempt"] for record in kept] == list(range(1, 11))
    assert len(kept[-1]["message"]) == 300


def passed_after(*records: dict[str, Any], **status: Any) -> list[str] | None:
    """The remarks of a Job whose last attempt, the one behind these, succeeded."""
    done = {
        "attempt": len(records),
        "workloadPhase": "Succeeded",
        "failedAttempts": list(records),
        "conditions": [condition("Succeeded")],
        **status,
    }
    complete = goodput(conditions=[condition("Complete")], result=0.9)
    found: list[str] | None = sync(parent(done, **CHECKPOINT), [complete], {}).status.get("remarks")
    return found


def failed_on(attempt: int, node: str, reason: str = "WorkloadFailed", message: str = "it crashed") -> dict[str, Any]:
    blamed = [{"name": node, "reason": reason, "message": message}] if node else None
    record = {"attempt": attempt, "message": message, "attribution": "Node" if node else "Group"}
    return {**record, "failedNodes": blamed} if blamed else record


@pytest.mark.parametrize(
    ("records", "blamed"),
    [
        pytest.param([failed_on(0, "n1")], "1 restart from a checkpoint; node n1 failed in attempt 0", id="once"),
        pytest.param(
            [failed_on(0, "n1"), failed_on(1, ""), failed_on(2, "n1")],
            "3 restarts from a checkpoint; node n1 failed in attempts 0 and 2; no single node is to blame in attempt 1",
            id="often",
        ),
        pytest.param(
            [failed_on(0, "n1", "Drained", "cordoned while the run was under way")],
            "1 restart from a checkpoint; node n1 was cordoned while the run was under way in attempt 0",
            id="a node that went",
        ),
    ],
)
def test_a_group_that_passed_after_restarts_says_so_and_names_the_nodes(records: list[dict[str, Any]], blamed: str):
    assert passed_after(*records) == [f"passed only after {blamed}"]


def test_a_group_that_passed_at_once_is_not_remarked_upon():
    assert passed_after() is None


def test_a_group_that_failed_a_threshold_after_restarts_has_not_passed():
    done = {"attempt": 1, "failedAttempts": [failed_on(0, "n1")], "conditions": [condition("Succeeded")]}
    strict = {**CHECKPOINT, "thresholds": {"goodputRatio": "value > 0.95"}}
    complete = goodput(conditions=[condition("Complete")], result=0.9)
    answer = sync(parent(done, **strict), [complete], {})
    assert states(answer)["ValidationFailed"] == "True"
    assert "remarks" not in answer.status
