"""The Job's hook: one TrainJob an attempt, phases, clocks, blame, teardown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sync_hooks import job
from sync_hooks.api.observed import Log
from sync_hooks.api.sync import GetObject, ListPods, Observed, Read, Result, Unreadable
from sync_hooks.execution.blame import failures, log_read
from tests.support.hooks import (
    NAMESPACE,
    NOW,
    STAMP,
    condition,
    failed_pod,
    live,
    manifest,
    owned,
    pod,
    reads,
    request,
)

NAME = "run-g0-i1"
ATTEMPT = "run-g0-i1-w0"
OWN = GetObject("cre.nvidia.com/v1alpha1", "Job", NAME, NAMESPACE)
TRAIN_JOB = GetObject("trainer.kubeflow.org/v1alpha1", "TrainJob", ATTEMPT, NAMESPACE)
JOBSET = GetObject("jobset.x-k8s.io/v1alpha2", "JobSet", ATTEMPT, NAMESPACE)
PODS = ListPods(NAMESPACE, ATTEMPT)
FRESH = ListPods(NAMESPACE, ATTEMPT, fresh=True)
SPEC = {"workload": {"trainJob": {"runtimeRef": {"name": "run-runtime"}, "trainer": {"numNodes": 2}}}, "timeout": "1h"}
NODES = {"annotations": {"cre.nvidia.com/group-nodes": "n1,n2"}}


def parent(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    workflow = {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "Workflow", "name": "run", "uid": "uid-run"}
    metadata = {"ownerReferences": [{**workflow, "controller": True}], **NODES}
    return manifest("Job", NAME, spec={**SPEC, **spec}, status=status or {}, metadata=metadata)


def train_job(*conditions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    made = manifest("TrainJob", ATTEMPT, apiVersion="trainer.kubeflow.org/v1alpha1", spec=spec)
    made["metadata"]["creationTimestamp"] = STAMP
    return {**made, "status": {"conditions": list(conditions)}}


def jobset(uid: str = f"uid-{ATTEMPT}") -> Any:
    return live(owned(manifest("JobSet", ATTEMPT, uid="uid-jobset"), manifest("TrainJob", ATTEMPT, uid=uid)))


def sync(job_: dict[str, Any], children: list[dict[str, Any]], observed: Observed, seconds: float = 0) -> Result:
    answer = job.sync(request(job_, children), observed, NOW + timedelta(seconds=seconds))
    assert isinstance(answer, Result), answer
    return answer


def states(answer: Result) -> dict[str, str]:
    return {item["type"]: item["status"] for item in answer.status["conditions"]}


def reason(answer: Result, type_: str) -> str:
    return next(item["reason"] for item in answer.status["conditions"] if item["type"] == type_)


def kinds(answer: Result) -> list[str]:
    return [child["kind"] for child in answer.children]


# Launching


def nothing_there(job_: dict[str, Any]) -> dict[Read, Any]:
    return {OWN: live(job_), TRAIN_JOB: None, JOBSET: None}


def test_a_name_is_used_only_after_a_live_read_finds_neither_train_job_nor_jobset():
    assert set(reads(job.sync(request(parent()), {}, NOW))) == {OWN, TRAIN_JOB, JOBSET}


def test_the_train_job_and_its_measurements_are_made_together():
    job_ = parent(bandwidthMeasurement={"logProfileRef": "nccl-bandwidth", "testType": "all_reduce"}, ranks=16)
    answer = sync(job_, [], nothing_there(job_))
    assert kinds(answer) == ["TrainJob", "BandwidthMeasurement"]
    measurement = answer.children[1]
    assert measurement["spec"] == {
        "jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": NAME},
        "logProfileRef": "nccl-bandwidth",
        "testType": "all_reduce",
        "ranks": 16,
    }
    [owner] = measurement["metadata"]["ownerReferences"]
    assert (owner["kind"], owner.get("controller")) == ("Workflow", None)


def test_a_jobset_left_behind_is_waited_for_and_then_given_up():
    job_ = parent()
    observed = nothing_there(job_) | {JOBSET: jobset("uid-earlier")}
    first = sync(job_, [], observed)
    assert first.children == ()
    assert first.status["waiting"]["reason"] == "WorkloadTerminating"
    waiting = parent(first.status)
    last = sync(waiting, [], observed | {OWN: live(waiting)}, seconds=301)
    assert reason(last, "Failed") == "WorkloadCreationError"


def test_a_foreign_train_job_is_never_touched():
    job_ = parent()
    foreign = live(manifest("TrainJob", ATTEMPT, uid="uid-other"))
    answer = sync(job_, [], nothing_there(job_) | {TRAIN_JOB: foreign})
    assert reason(answer, "Failed") == "WorkloadCreationError"
    assert answer.children == ()


def test_a_train_job_that_was_seen_and_is_gone_was_deleted():
    seen = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": ATTEMPT, "uid": "u"}
    job_ = parent({"workloadRef": seen, "attempt": 0})
    assert reason(sync(job_, [], nothing_there(job_)), "Failed") == "WorkloadDeleted"


def test_a_stale_request_makes_nothing():
    newer = parent({"workloadPhase": "Running"})
    newer["metadata"]["resourceVersion"] = "99"
    answer = sync(parent(), [], nothing_there(parent()) | {OWN: live(newer)})
    assert answer.children == ()
    assert answer.status == {"workloadPhase": "Running"}


def test_a_cluster_that_cannot_be_read_changes_nothing():
    answer = sync(parent(), [train_job()], {JOBSET: Unreadable("timeout"), PODS: ()})
    assert kinds(answer) == ["TrainJob"]
    assert answer.status == {}
    assert answer.resync_after > 0


# Phases and clocks


def test_a_suspended_train_job_starts_no_clock_however_long_it_is_held():
    held = train_job(condition("Suspended", message="in queue a"), suspend=True)
    answer = sync(parent(), [held], {}, seconds=7 * 24 * 3600)
    assert states(answer)["InProgress"] == "True"
    assert answer.status["workloadPhase"] == "Pending"
    assert "workloadStartTime" not in answer.status


def test_an_unschedulable_pod_is_shown_in_the_schedulers_words_after_a_grace():
    blocked = pod("p", phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/9 nodes")])
    observed = {JOBSET: jobset(), PODS: (blocked,)}
    first = sync(parent(), [train_job()], observed)
    assert "0/9 nodes" not in first.status["waiting"]["message"]
    later = sync(parent(first.status), [train_job()], observed, seconds=400)
    assert "0/9 nodes" in later.status["waiting"]["message"]
    assert "workloadStartTime" not in later.status


def test_the_timeout_counts_from_the_moment_the_pods_started():
    observed = {JOBSET: jobset(), PODS: (pod("p", node="n1"),)}
    running = sync(parent(), [train_job()], observed)
    assert running.status["workloadStartTime"] == STAMP
    assert states(sync(parent(running.status), [train_job()], observed, seconds=3599))["InProgress"] == "True"
    over = sync(parent(running.status), [train_job()], observed, seconds=3601)
    assert reason(over, "Failed") == "JobTimedOut"


def test_the_end_of_another_train_jobs_jobset_does_not_count():
    answer = sync(parent(), [train_job(condition("Complete"))], {JOBSET: jobset("uid-earlier")})
    assert states(answer)["InProgress"] == "True"


def test_success_and_failure_are_latched():
    complete = sync(parent(), [train_job(condition("Complete"))], {JOBSET: jobset()})
    assert states(complete)["Succeeded"] == "True"
    done = parent({**complete.status, "settled": True, "drained": True})
    again = sync(done, [train_job(condition("Failed"))], {})
    assert again.status == done["status"]


# After the end


def failed(**more: Any) -> dict[str, Any]:
    answer = sync(parent(), [train_job(condition("Failed", reason="JobsFailed"))], {JOBSET: jobset()})
    return parent({**answer.status, **more})


def test_a_failed_workload_is_attributed_before_anything_is_torn_down():
    bad = failed_pod(f"{ATTEMPT}-node-0-1-x", "n2")
    tail = log_read(failures([bad])[0])
    observed = {JOBSET: jobset(), FRESH: (bad, pod("other", node="n1"))}
    assert reads(job.sync(request(failed(), [train_job()]), observed, NOW)) == (tail,)
    answer = sync(failed(), [train_job()], observed | {tail: Log(content=b"Xid 79\n")})
    assert kinds(answer) == ["TrainJob"]
    assert [node["name"] for node in answer.status["failedNodes"]] == ["n2"]
    assert answer.status["attribution"] == "Node"
    assert answer.status["failureLog"]["tail"] == "Xid 79\n"
    message = next(item["message"] for item in answer.status["conditions"] if item["type"] == "Failed")
    assert "on node n2" in message


def test_evidence_that_cannot_be_read_is_given_up_after_a_minute():
    observed = {JOBSET: Unreadable("timeout"), FRESH: Unreadable("timeout")}
    first = sync(failed(), [train_job()], observed)
    assert "attribution" not in first.status
    last = sync(parent(first.status), [train_job()], observed, seconds=61)
    assert last.status["attribution"] == "Group"


def test_a_workload_that_could_not_be_made_blames_no_node():
    job_ = parent()
    broken = sync(job_, [], nothing_there(job_) | {TRAIN_JOB: live(manifest("TrainJob", ATTEMPT, uid="x"))})
    answer = sync(parent(broken.status), [], {})
    assert answer.status["attribution"] == "None"
    assert "failedNodes" not in answer.status


def test_a_failed_train_job_goes_after_settling_and_drained_is_said_last():
    settled = failed(attribution="Group", settled=True)
    alive = sync(settled, [train_job()], {FRESH: (pod("p", node="n1"),)})
    assert kinds(alive) == []
    assert "drained" not in alive.status
    gone = sync(parent(alive.status), [], {FRESH: ()})
    assert gone.status["drained"] is True


def test_a_pod_on_a_dead_node_holds_the_run_for_five_minutes_at_most():
    settled = failed(attribution="Group", settled=True)
    first = sync(settled, [], {FRESH: (pod("p", node="n1"),)})
    last = sync(parent(first.status), [], {FRESH: (pod("p", node="n1"),)}, seconds=301)
    assert last.status["drained"] is True


def test_a_succeeded_train_job_stays():
    complete = sync(parent(), [train_job(condition("Complete"))], {JOBSET: jobset()})
    settled = sync(parent(complete.status), [train_job()], {})
    assert settled.status["settled"] is True
    answer = sync(parent(settled.status), [train_job()], {FRESH: (pod("p", node="n1", phase="Succeeded"),)})
    assert kinds(answer) == ["TrainJob"]
    assert answer.status["drained"] is True


# Measurements and thresholds

BANDWIDTH = {"logProfileRef": "nccl-bandwidth"}


def measured(**status: Any) -> dict[str, Any]:
    return manifest("BandwidthMeasurement", f"{NAME}-bandwidth", status=status)


def summary(peak: float) -> dict[str, Any]:
    peaks = {"peakBusBandwidthGBps": peak, "atLargestBusBandwidthGBps": peak, "peakAlgBandwidthGBps": peak / 2}
    return {"summary": peaks, "conditions": [condition("Complete", reason="JobSucceeded")]}


def succeeded(**spec: Any) -> dict[str, Any]:
    complete = sync(parent(), [train_job(condition("Complete"))], {JOBSET: jobset()})
    return parent(complete.status, bandwidthMeasurement=BANDWIDTH, **spec)


def test_a_job_is_not_settled_before_its_measurement_is_final():
    answer = sync(succeeded(), [train_job(), measured()], {})
    assert "settled" not in answer.status
    assert answer.status["waiting"]["reason"] == "MeasurementPending"


@pytest.mark.parametrize(
    ("thresholds", "status", "expected"),
    [
        pytest.param({"busBandwidthGBps": "value >= 300"}, summary(480), ("False", "ThresholdsMet"), id="met"),
        pytest.param({"busBandwidthGBps": "value >= 300"}, summary(20), ("True", "ThresholdViolated"), id="violated"),
        pytest.param(
            {"busBandwidthGbps": "value >= 300"}, summary(480), ("True", "UnknownThresholdKey"), id="misspelt"
        ),
        pytest.param(
            {"busBandwidthGBps": "value >= 'x'"}, summary(480), ("True", "InvalidThresholdExpression"), id="not a test"
        ),
        pytest.param(
            {"busBandwidthGBps": "value >= 300"},
            {"conditions": [condition("Complete", reason="NoDataCollected")]},
            ("True", "MeasurementTimeout"),
            id="nothing measured",
        ),
        pytest.param({}, {**summary(480), "wrongCount": 12}, ("True", "WrongResults"), id="wrong values"),
    ],
)
def test_what_was_required_is_judged_and_fails_closed(thresholds, status, expected):
    answer = sync(succeeded(thresholds=thresholds), [train_job(), measured(**status)], {})
    assert (states(answer)["ValidationFailed"], reason(answer, "ValidationFailed")) == expected
    assert states(answer)["Succeeded"] == "True"


def test_a_measurement_that_never_comes_is_given_up_with_a_reason():
    job_ = succeeded(thresholds={"busBandwidthGBps": "value >= 300"}, measurementTimeout="2m")
    waiting = sync(job_, [train_job()], {})
    late = parent(waiting.status, bandwidthMeasurement=BANDWIDTH, measurementTimeout="2m", thresholds={})
    late["spec"]["thresholds"] = {"busBandwidthGBps": "value >= 300"}
    answer = sync(late, [train_job()], {}, seconds=121)
    assert reason(answer, "ValidationFailed") == "MeasurementTimeout"
    assert answer.status["unmeasured"] == ["bandwidth: not measured within 2m"]


def test_a_socket_fallback_fails_where_the_platform_has_a_fabric():
    fallen = {**summary(5), "socketFallback": True}
    answer = sync(succeeded(fabricExpected=True), [train_job(), measured(**fallen)], {})
    assert reason(answer, "ValidationFailed") == "SocketFallback"
    fine = sync(succeeded(), [train_job(), measured(**fallen)], {})
    assert "ValidationFailed" not in states(fine)
