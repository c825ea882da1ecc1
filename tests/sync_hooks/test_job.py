"""The Job's hook: one TrainJob an attempt, phases, clocks, blame, teardown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sync_hooks import job
from sync_hooks.api.observed import Log, Pod
from sync_hooks.api.sync import GetObject, ListNodes, ListPods, Observed, Read, Result, Unreadable
from sync_hooks.execution.blame import failures, log_read
from tests.support.asking import ask, healthy
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
from tests.sync_hooks.test_workflow import node

NAME = "run-g0-i1"
ATTEMPT = "run-g0-i1-w0"
TRAIN_JOB = GetObject("trainer.kubeflow.org/v1alpha1", "TrainJob", ATTEMPT, NAMESPACE)
JOBSET = GetObject("jobset.x-k8s.io/v1alpha2", "JobSet", ATTEMPT, NAMESPACE)
PODS = ListPods(NAMESPACE, ATTEMPT)
FRESH = ListPods(NAMESPACE, ATTEMPT, fresh=True)
SPEC = {"workload": {"trainJob": {"runtimeRef": {"name": "run-runtime"}, "trainer": {"numNodes": 2}}}, "timeout": "1h"}
NODES = {"annotations": {"cre.nvidia.com/group-nodes": "n1,n2"}}
NOTICED = f"mpirun noticed that process rank 1 with PID 0 on node {ATTEMPT}-node-0-1 exited on signal 9 (Killed)."


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
    return ask(job.sync, request(job_, children), observed, NOW + timedelta(seconds=seconds))


def states(answer: Result) -> dict[str, str]:
    return {item["type"]: item["status"] for item in answer.status["conditions"]}


def reason(answer: Result, type_: str) -> str:
    return next(item["reason"] for item in answer.status["conditions"] if item["type"] == type_)


def kinds(answer: Result) -> list[str]:
    return [child["kind"] for child in answer.children]


NOT_READY = 'node.status.conditions.exists(c, c.type == "Ready" && c.status != "True")'

# Launching


NOTHING_THERE: dict[Read, Any] = {TRAIN_JOB: None, JOBSET: None}


def test_a_name_is_used_only_after_a_live_read_finds_neither_train_job_nor_jobset():
    assert set(reads(job.sync(request(parent()), {}, NOW))) == {TRAIN_JOB, JOBSET}


def test_a_jobset_left_behind_is_waited_for_and_then_given_up():
    observed = NOTHING_THERE | {JOBSET: jobset("uid-earlier")}
    first = sync(parent(), [], observed)
    assert first.children == ()
    assert first.status["waiting"]["reason"] == "WorkloadTerminating"
    late = sync(parent(first.status), [], observed, seconds=301)
    assert states(late)["InProgress"] == "True"
    assert reason(sync(parent(late.status), [], observed, seconds=332), "Failed") == "WorkloadCreationError"


def test_a_foreign_train_job_is_never_touched():
    job_ = parent()
    foreign = live(manifest("TrainJob", ATTEMPT, uid="uid-other"))
    answer = sync(job_, [], NOTHING_THERE | {TRAIN_JOB: foreign})
    assert reason(answer, "Failed") == "WorkloadCreationError"
    assert answer.children == ()


def test_a_train_job_that_was_seen_and_is_gone_was_deleted():
    seen = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": ATTEMPT, "uid": "u"}
    job_ = parent({"workloadRef": seen, "attempt": 0})
    assert reason(sync(job_, [], NOTHING_THERE), "Failed") == "WorkloadDeleted"


def test_a_cluster_that_cannot_be_read_changes_nothing():
    answer = sync(parent(), [train_job()], {JOBSET: Unreadable("timeout"), PODS: (pod("p", node="n1"),)})
    assert kinds(answer) == ["TrainJob"]
    assert "conditions" not in answer.status
    assert answer.resync_after > 0


# Phases and clocks


def test_a_suspended_train_job_starts_no_clock_however_long_it_is_held():
    held = train_job(condition("Suspended", message="in queue a"), suspend=True)
    answer = sync(parent(), [held], {}, seconds=7 * 24 * 3600)
    assert states(answer)["InProgress"] == "True"
    assert answer.status["workloadPhase"] == "Pending"
    assert "workloadStartTime" not in answer.status
    assert answer.resync_after == 300  # its TrainJob tells by itself


def test_an_unschedulable_pod_is_shown_in_the_schedulers_words_after_a_grace():
    blocked = pod("p", phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/9 nodes")])
    observed = {JOBSET: jobset(), PODS: (blocked,), ListNodes(): (node("n1"), node("n2"))}
    first = sync(parent(), [train_job()], observed)
    assert "0/9 nodes" not in first.status["waiting"]["message"]
    later = sync(parent(first.status), [train_job()], observed, seconds=400)
    assert "0/9 nodes" in later.status["waiting"]["message"]
    assert (first.resync_after, later.resync_after) == (15, 60)  # seldom, once it takes long
    assert "workloadStartTime" not in later.status


def test_a_group_whose_node_is_gone_ends_after_a_grace_and_excludes_the_node():
    blocked = pod("p", phase="Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/9 nodes")])
    observed = {JOBSET: jobset(), PODS: (blocked,), ListNodes(): (node("n1"),), GetObject("v1", "Node", "n2"): None}
    first = sync(parent(), [train_job()], observed, seconds=0)
    assert states(sync(parent(first.status), [train_job()], observed, seconds=299))["InProgress"] == "True"
    over = sync(parent(first.status), [train_job()], observed, seconds=301)
    assert (reason(over, "Failed"), over.status["attribution"]) == ("NodeLost", "Node")
    assert [(item["name"], item["reason"]) for item in over.status["failedNodes"]] == [("n2", "NodeLost")]


def test_time_spent_suspended_in_the_middle_does_not_count():
    observed = {JOBSET: jobset(), PODS: (pod("p", node="n1"), pod("q", node="n2"))}
    running = sync(parent(), [train_job()], observed)
    assert "workloadStartTime" in running.status
    held = sync(parent(running.status), [train_job(suspend=True)], {}, seconds=600)
    assert "workloadStartTime" not in held.status
    later = {JOBSET: jobset(), PODS: (pod("p", node="n1", startTime="2026-01-01T15:00:00Z"),)}
    assert states(sync(parent(held.status), [train_job()], later, seconds=3 * 3600 + 60))["InProgress"] == "True"


def test_where_workers_run_is_written_down_while_they_do():
    def worker(name: str, index: str, at: str):
        made = pod(name, node=at)
        made.metadata.labels["batch.kubernetes.io/job-completion-index"] = index
        return made

    observed = {JOBSET: jobset(), FRESH: (worker("a", "1", "n1"), worker("b", "0", "n2"))}
    answer = sync(parent(), [{**train_job(), "status": {"jobsStatus": [{"name": "node", "ready": 2}]}}], observed)
    assert answer.status["nodes"] == ["n2", "n1"]
    gone = sync(parent(answer.status), [train_job()], {JOBSET: jobset(), PODS: ()}, seconds=30)
    assert gone.status["nodes"] == ["n2", "n1"]


def test_the_timeout_counts_from_the_moment_the_pods_started():
    observed = {JOBSET: jobset(), PODS: (pod("p", node="n1"), pod("q", node="n2"))}
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


def ended(type_: str, reason_: str) -> dict[str, Any]:
    """The status of a Job whose workload has just ended."""
    others = [condition(name, "False") for name in ("InProgress", "Succeeded", "Failed") if name != type_]
    return {"attempt": 0, "conditions": [*others, condition(type_, reason=reason_, message="JobsFailed")]}


def failed(**more: Any) -> dict[str, Any]:
    return parent({**ended("Failed", "WorkloadFailed"), **more})


def test_a_failed_workload_is_attributed_before_anything_is_torn_down():
    bad = failed_pod(f"{ATTEMPT}-node-0-1-x", "n2")
    tail = log_read(failures([bad])[0])
    observed = {JOBSET: jobset(), FRESH: (bad, pod("other", node="n1"))}
    answer = sync(failed(), [train_job()], observed | {tail: Log(content=b"Xid 79\n")})
    assert kinds(answer) == ["TrainJob"]
    assert [node["name"] for node in answer.status["failedNodes"]] == ["n2"]
    assert answer.status["attribution"] == "Node"
    assert answer.status["failureLog"]["tail"] == "Xid 79\n"
    message = next(item["message"] for item in answer.status["conditions"] if item["type"] == "Failed")
    assert "on node n2" in message


def test_a_log_that_cannot_be_read_is_tried_again_before_the_group_is_blamed():
    launcher = failed_pod(f"{ATTEMPT}-launcher-0-0-x", "n1", role="launcher")
    tail = log_read(failures([launcher])[0])
    observed = {JOBSET: jobset(), FRESH: (launcher,)}
    first = sync(failed(nodes=["n1", "n2"]), [train_job()], observed | {tail: Unreadable("timeout")})
    assert "attribution" not in first.status
    said = Log(content=NOTICED.encode())
    answer = sync(parent(first.status), [train_job()], observed | {tail: said}, seconds=10)
    assert [node["name"] for node in answer.status["failedNodes"]] == ["n2"]
    late = sync(parent(first.status), [train_job()], observed | {tail: Unreadable("timeout")}, seconds=61)
    last = sync(parent(late.status), [train_job()], observed | {tail: Unreadable("timeout")}, seconds=92)
    assert last.status["attribution"] == "Group"


def cordoned_under(killed: Pod) -> Result:
    """The answer where n1's worker exited with 1 at 12:00:00, another worker was killed and n2 is cordoned."""
    other = failed_pod(f"{ATTEMPT}-node-0-0-x", "n1", exit_code=1)
    world = {JOBSET: jobset(), FRESH: (killed, other), GetObject("v1", "Node", "n2"): healthy("n2", unschedulable=True)}
    return sync(failed(), [train_job()], world)


def test_a_node_that_was_cordoned_and_drained_is_excluded_not_blamed():
    evicted = condition("DisruptionTarget", reason="EvictionByEvictionAPI", at="2026-01-01T11:59:58Z")
    killed = failed_pod(f"{ATTEMPT}-node-0-1-x", "n2", 143, "2026-01-01T12:00:09Z", conditions=[evicted])
    answer = cordoned_under(killed)
    assert [(item["name"], item["reason"]) for item in answer.status["failedNodes"]] == [("n2", "Drained")]
    assert "node n2: cordoned while the run was under way" in answer.status["conditions"][2]["message"]


def test_a_cordon_does_not_hide_a_node_whose_worker_had_failed_before():
    answer = cordoned_under(failed_pod(f"{ATTEMPT}-node-0-1-x", "n2", 143, "2026-01-01T12:00:01Z"))
    assert [(item["name"], item["reason"]) for item in answer.status["failedNodes"]] == [("n1", "WorkloadFailed")]


def test_a_node_that_is_not_ready_when_its_workload_fails_has_failed():
    lost = live(manifest("Node", "n2", apiVersion="v1", status={"conditions": [condition("Ready", "Unknown")]}))
    world = {JOBSET: jobset(), FRESH: (failed_pod("p", "n1"),), GetObject("v1", "Node", "n2"): lost}
    spec = {"nodeHealthMonitor": {"cel": {"expression": NOT_READY}}}
    answer = sync(parent(ended("Failed", "WorkloadFailed"), **spec), [train_job()], world)
    assert states(answer)["HardwareFailed"] == "True"
    assert [item["name"] for item in answer.status["failedNodes"]] == ["n2"]


def test_evidence_that_cannot_be_read_is_given_up_after_five_minutes():
    observed = {JOBSET: Unreadable("timeout"), FRESH: Unreadable("timeout")}
    first = sync(failed(), [train_job()], observed)
    assert "attribution" not in first.status
    late = sync(parent(first.status), [train_job()], observed, seconds=301)
    assert "attribution" not in late.status
    last = sync(parent(late.status), [train_job()], observed, seconds=332)
    assert last.status["attribution"] == "Group"


def test_a_workload_that_could_not_be_made_blames_no_node():
    job_ = parent()
    broken = sync(job_, [], NOTHING_THERE | {TRAIN_JOB: live(manifest("TrainJob", ATTEMPT, uid="x"))})
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
    stuck = {FRESH: (pod("p", node="n1"),)}
    first = sync(settled, [], stuck)
    late = sync(parent(first.status), [], stuck, seconds=301)
    assert "drained" not in late.status
    assert sync(parent(late.status), [], stuck, seconds=332).status["drained"] is True


def test_a_succeeded_train_job_stays_and_everything_is_said_at_once():
    over = {JOBSET: jobset(), FRESH: (pod("p", node="n1", phase="Succeeded"),)}
    answer = sync(parent(), [train_job(condition("Complete"))], over)
    assert states(answer)["Succeeded"] == "True"
    assert (answer.status["settled"], answer.status["drained"]) == (True, True)
    assert kinds(answer) == ["TrainJob"]


def test_a_failed_job_is_not_drained_while_its_train_job_stands_although_a_cache_does_not_show_it():
    over = ended("Failed", "WorkloadFailed") | {"settled": True, "attribution": "None"}
    standing = live(owned(manifest("TrainJob", ATTEMPT), parent()))
    hidden = sync(parent(over), [], {TRAIN_JOB: standing, FRESH: ()})
    assert "drained" not in hidden.status
    assert hidden.resync_after > 0
    assert sync(parent(over), [], {TRAIN_JOB: None, FRESH: ()}).status["drained"]


def test_a_failed_train_job_stays_until_the_api_has_the_verdict():
    observed = {JOBSET: jobset(), FRESH: (failed_pod("p", "n1"),)}
    answer = sync(parent(), [train_job(condition("Failed", reason="JobsFailed"))], observed)
    assert (states(answer)["Failed"], answer.status["settled"]) == ("True", True)
    assert kinds(answer) == ["TrainJob"]
    assert kinds(sync(parent(answer.status), [train_job()], observed)) == []


# Measurements and thresholds

BANDWIDTH = {"logProfileRef": "nccl-bandwidth"}


def measured(**status: Any) -> dict[str, Any]:
    return manifest("BandwidthMeasurement", f"{NAME}-bandwidth", status=status)


def summary(peak: float) -> dict[str, Any]:
    peaks = {"peakBusBandwidthGBps": peak, "atLargestBusBandwidthGBps": peak, "peakAlgBandwidthGBps": peak / 2}
    return {"summary": peaks, "conditions": [condition("Complete", reason="JobSucceeded")]}


def succeeded(**spec: Any) -> dict[str, Any]:
    return parent(ended("Succeeded", "WorkloadCompleted"), bandwidthMeasurement=BANDWIDTH, **spec)


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
    spec = {"thresholds": {"busBandwidthGBps": "value >= 300"}, "measurementTimeout": "2m"}
    waiting = sync(succeeded(**spec), [train_job()], {})
    late = sync(parent(waiting.status, bandwidthMeasurement=BANDWIDTH, **spec), [train_job()], {}, seconds=121)
    assert "settled" not in late.status
    answer = sync(parent(late.status, bandwidthMeasurement=BANDWIDTH, **spec), [train_job()], {}, seconds=152)
    assert reason(answer, "ValidationFailed") == "MeasurementTimeout"
    assert answer.status["unmeasured"] == ["bandwidth: not measured within 2m"]


def test_after_an_outage_a_measurement_is_given_the_time_to_look():
    spec = {"thresholds": {"busBandwidthGBps": "value >= 300"}}
    waiting = sync(succeeded(**spec), [train_job()], {})
    after = sync(parent(waiting.status, bandwidthMeasurement=BANDWIDTH, **spec), [train_job()], {}, seconds=3600)
    assert "settled" not in after.status
    back = parent(after.status, bandwidthMeasurement=BANDWIDTH, **spec)
    answer = sync(back, [train_job(), measured(**summary(480))], {}, seconds=3605)
    assert reason(answer, "ValidationFailed") == "ThresholdsMet"


def test_a_socket_fallback_fails_where_the_platform_has_a_fabric():
    fallen = {**summary(5), "socketFallback": True}
    answer = sync(succeeded(fabricExpected=True), [train_job(), measured(**fallen)], {})
    assert reason(answer, "ValidationFailed") == "SocketFallback"
    fine = sync(succeeded(), [train_job(), measured(**fallen)], {})
    assert "ValidationFailed" not in states(fine)
