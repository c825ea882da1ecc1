"""Whom a Job blames where nodes die, go or never start while it runs: from the first look to the drained Job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.observed import Log, Pod
from sync_hooks.api.sync import GetObject, Observed, Result, Unreadable
from sync_hooks.execution.blame import failures, log_read
from tests.support.asking import healthy
from tests.support.hooks import STAMP, condition, failed_pod, live, manifest, pod
from tests.sync_hooks.test_job import FRESH, JOBSET, NOTICED, PODS, jobset, parent, states, sync, train_job
from tests.sync_hooks.test_job_endings import CHECKPOINT, HEALTH
from tests.sync_hooks.test_job_places import LAUNCHER, unpinned, worker

N1, N2 = GetObject("v1", "Node", "n1"), GetObject("v1", "Node", "n2")
BOTH = (worker(0, "n1"), worker(1, "n2"))
FIRST = failed_pod("w0-n1", "n1", at="2026-01-01T12:10:20Z")
LEFT = worker(1, "n2", going=True)
DEAD = live(manifest("Node", "n2", apiVersion="v1", status={"conditions": [condition("Ready", "Unknown")]}))
ENDED = train_job(condition("Failed", reason="FailedJobs", at="2026-01-01T12:10:21Z"))


def blamed(answer: Result) -> tuple[str, list[tuple[str, str]]]:
    return answer.status["attribution"], [
        (item["name"], item["reason"]) for item in answer.status.get("failedNodes", [])
    ]


def ends(pods: tuple[Pod, ...], before: tuple[Pod, ...] = BOTH, observed: Observed | None = None) -> Result:
    """The answer at 12:10:22, where the workload had been seen at 12:00."""
    first = sync(parent(), [train_job()], {JOBSET: jobset(), PODS: before})
    world = {JOBSET: jobset(), PODS: pods, FRESH: pods, **(observed or {})}
    return sync(parent(first.status), [ENDED], world, 622)


# Nodes that die


def drained_at(status: dict[str, Any], world: dict[Any, Any], *moments: int) -> Result:
    for seconds in moments:
        answer = sync(parent(status, **HEALTH), [], world, seconds)
        status = answer.status
    return answer


def crashed(spec: dict[str, Any], seen: Any = DEAD, left: Pod = LEFT) -> Result:
    """n2 has died, n1's worker notices and fails, and n2's pod does not go."""
    world = {JOBSET: jobset(), PODS: BOTH, FRESH: (FIRST, left)}
    first = sync(parent(**spec), [train_job()], world)
    status = sync(parent(first.status, **spec), [ENDED], world, 622).status
    assert [node["name"] for node in status["failedNodes"]] == ["n1"]
    return drained_at(status, world | {N2: seen}, 624, 640, 700, 760)


def test_a_node_that_is_seen_to_be_dead_only_after_its_peer_has_failed_is_blamed_instead():
    answer = crashed(HEALTH)
    assert blamed(answer) == ("Node", [("n2", "HardwareFailureDetected")])
    assert states(answer)["HardwareFailed"] == "True"
    message = next(item["message"] for item in answer.status["conditions"] if item["type"] == "Failed")
    assert message.count("node n2: the node failed while the workload ran on it") == 1
    assert "drained" not in answer.status


@pytest.mark.parametrize(
    ("seen", "left"),
    [
        pytest.param(healthy("n2"), LEFT, id="the node is well"),
        pytest.param(Unreadable("timeout"), LEFT, id="it cannot be read"),
        pytest.param(DEAD, pod("foreign", node="n2", jobset_uid="uid-other"), id="the pod is another workload's"),
    ],
)
def test_a_pod_that_is_slow_to_go_changes_no_blame(seen: Any, left: Pod):
    assert blamed(crashed(HEALTH, seen, left)) == ("Node", [("n1", "WorkloadFailed")])


def test_a_hardware_failure_that_was_found_is_not_forgotten_when_the_node_comes_back():
    spec = {**HEALTH, **CHECKPOINT}
    world = {JOBSET: jobset(), PODS: BOTH, FRESH: (FIRST, worker(1, "n2"))}
    first = sync(parent(**spec), [train_job()], world)
    over = sync(parent(first.status, **spec), [ENDED], world, 622)
    found = sync(parent(over.status, **spec), [ENDED], world | {N2: DEAD}, 624)
    assert states(found)["Failed"] == "True"
    settled = sync(parent(found.status, **spec), [ENDED], world, 626)
    assert blamed(settled) == ("Node", [("n2", "HardwareFailureDetected")])


# Nodes that go


CORDONED = {N1: healthy("n1", unschedulable=True)}


def test_a_cordon_hides_nothing_where_pods_cannot_be_seen():
    world = {JOBSET: Unreadable("timeout"), FRESH: Unreadable("timeout"), **CORDONED}
    status: dict[str, Any] = {"conditions": [condition("Failed", reason="WorkloadFailed")], "attempt": 0}
    for seconds in (0, 301, 332):
        status = sync(parent(status), [train_job()], world, seconds).status
    assert (status["attribution"], status.get("failedNodes")) == ("None", None)


def test_a_workload_that_hung_on_a_node_that_was_merely_cordoned_has_failed():
    status: dict[str, Any] = {"conditions": [condition("Failed", reason="JobTimedOut")], "attempt": 0}
    world = {JOBSET: jobset(), FRESH: BOTH, **CORDONED}
    assert blamed(sync(parent(status), [train_job()], world)) == (
        "Group",
        [("n1", "WorkloadFailed"), ("n2", "WorkloadFailed")],
    )


@pytest.mark.parametrize("node", [CORDONED[N1], None], ids=["cordoned", "deleted"])
def test_where_nobody_knows_whether_a_node_went_before_another_one_failed_the_failure_stands(node: Any):
    pods = (failed_pod("w1-n2", "n2", at="2026-01-01T12:10:20Z"),)
    answer = ends(pods, observed={N1: node})
    assert blamed(answer) == ("None", [])
    assert states(answer)["Failed"] == "True"


# Workers that never start


def waiting(**status: Any) -> Pod:
    made = pod("w1-n2", phase="Pending", startTime=None, **status)
    labels = {**made.labels, "batch.kubernetes.io/job-completion-index": "1"}
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, labels=labels))


UNPLACED = waiting(conditions=[condition("PodScheduled", "False", "Unschedulable", "0/9 nodes")])


@pytest.mark.parametrize(
    "before",
    [
        pytest.param((BOTH[0], UNPLACED), id="was never placed"),
        pytest.param((BOTH[0], waiting(node="n2")), id="never had a sandbox"),
        pytest.param((BOTH[0],), id="was never made"),
    ],
)
def test_who_waited_for_a_worker_that_was_not_there_is_not_blamed_although_its_pod_is_gone(before: tuple[Pod, ...]):
    answer = ends((FIRST,), before)
    assert blamed(answer) == ("None", [])
    assert "not all workers had started" in answer.status["conditions"][2]["message"]


def test_a_worker_that_failed_before_anybody_had_looked_is_blamed():
    answer = sync(parent(), [ENDED], {JOBSET: jobset(), FRESH: (FIRST,)}, 622)
    assert blamed(answer) == ("Node", [("n1", "WorkloadFailed")])
    status = {"attempt": 0, "workloadPhase": "Running", "workloadStartTime": STAMP}
    crash = failed_pod("w0-n7", "n7", 139, at="2026-01-01T12:10:20Z")
    wide = sync(unpinned(status), [ENDED], {JOBSET: jobset(), FRESH: (crash,)}, 622)
    assert blamed(wide) == ("Node", [("n7", "WorkloadFailed")])


@pytest.mark.parametrize(("tail", "attribution"), [(NOTICED, "None"), ("", "Group")], ids=["one is named", "none is"])
def test_of_more_workers_than_a_status_has_room_for_nobody_is_blamed_where_mpirun_names_one(
    tail: str, attribution: str
):
    spec = {"workload": {"trainJob": {"trainer": {"numNodes": 1001}}}}
    world = {JOBSET: jobset(), FRESH: (LAUNCHER,), log_read(failures([LAUNCHER])[0]): Log(content=tail.encode())}
    assert sync(parent(**spec), [ENDED], world, 622).status["attribution"] == attribution
