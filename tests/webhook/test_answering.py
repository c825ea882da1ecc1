"""From request to answer: what may leave, what is refused, and that nothing a parent says becomes an error loop."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from sync_hooks.api.sync import GetObject, Read, Unreadable
from tests.support.hooks import KINDS, NAMESPACE, NOW, condition, live, manifest, owned
from webhook.answering import HOOKS, answer

SPEC = {"image": "img", "numNodes": 2, "framework": {"exec": {"command": ["true"]}}}


def body(parent: Any, *children: dict[str, Any]) -> bytes:
    by_kind: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS.get(parent.get("kind", ""), ())}
    for child in children:
        key = f"{child['kind']}.{child['apiVersion']}"
        by_kind[key][f"{NAMESPACE}/{child['metadata']['name']}"] = owned(child, parent)
    return msgspec.json.encode({"parent": parent, "children": by_kind, "related": {}, "finalizing": False})


class Cluster:
    """Answers reads with what it was told, 404 for the rest, and remembers what it was asked."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.objects = {(item["kind"], item["metadata"]["name"]): live(item) for item in objects}
        self.asked: list[Read] = []

    def read(self, read: Read) -> Any:
        self.asked.append(read)
        return self.objects.get((read.kind, read.name)) if isinstance(read, GetObject) else ()


def run(**changes: Any) -> dict[str, Any]:
    return manifest("WorkloadRun", "run", **{"spec": SPEC, **changes})


def sync(parent: dict[str, Any], cluster: Cluster, *children: dict[str, Any], controller: str = "cre-workloadruns"):
    response = answer(controller, "sync", body(parent, *children), cluster.read, NOW)
    return response, json.loads(response.body)


def test_a_run_gets_its_workflow_with_the_admitted_spec():
    _, answered = sync(run(), Cluster(run()))
    [workflow] = answered["children"]
    assert (workflow["kind"], workflow["metadata"]["name"]) == ("Workflow", "run")
    assert workflow["spec"] == {**SPEC, "orchestration": {"timeoutPerJob": "24h"}}


def test_a_parent_that_does_not_exist_reads_nothing_but_itself():
    cluster = Cluster()
    response, _ = sync(run(), cluster)
    assert (response.status, response.retry_after is not None) == (429, True)
    assert [read.kind for read in cluster.asked if isinstance(read, GetObject)] == ["WorkloadRun"]


def test_a_parent_with_another_uid_is_not_believed():
    response, _ = sync(run(), Cluster(manifest("WorkloadRun", "run", uid="another")))
    assert response.status == 429


def test_a_spec_that_the_stored_parent_does_not_have_is_not_believed():
    forged = run(spec={**SPEC, "image": "somebody/elses"})
    _, answered = sync(forged, Cluster(run()))
    assert [workflow["spec"]["image"] for workflow in answered["children"]] == ["img"]


def test_a_parent_of_another_kind_is_refused():
    response, _ = sync(manifest("Job", "run"), Cluster(), controller="cre-workloadruns")
    assert response.status == 400


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(None, id="no spec"),
        pytest.param("text", id="text"),
        pytest.param([], id="a list"),
        pytest.param({**SPEC, "numNodes": "two"}, id="text for a number"),
        pytest.param({**SPEC, "framework": {}}, id="no framework"),
    ],
)
def test_a_broken_parent_fails_with_its_field_and_keeps_its_children(spec: Any):
    broken = run(spec=spec)
    response, answered = sync(broken, Cluster(broken))
    assert response.status == 200
    failed = next(item for item in answered["status"]["conditions"] if item["type"] == "Failed")
    assert (failed["status"], failed["reason"]) == ("True", "InvalidSpec")
    assert "spec" in failed["message"]


def test_a_request_with_impossible_shapes_keeps_the_children_and_says_why():
    broken = run()
    broken["metadata"]["labels"] = ["no", "map"]
    child = manifest("Workflow", "run")
    response, answered = sync(broken, Cluster(), child)
    assert response.status == 200
    assert answered["status"]["conditions"][2]["reason"] == "InvalidObject"
    assert answered["children"] == [
        {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "Workflow", "metadata": {"name": "run"}}
    ]


ENDED = {"verdict": "Passed", "conditions": [condition("Succeeded", reason="WorkflowSucceeded")]}


def test_a_verdict_is_not_taken_back_for_a_child_that_somebody_broke_afterwards():
    child = manifest("Workflow", "run", status="odd")
    _, answered = sync(run(), Cluster(run(status=ENDED)), child)  # the caches have not seen the end yet
    assert answered["status"] == ENDED
    assert [item["kind"] for item in answered["children"]] == ["Workflow"]


def test_while_nobody_knows_whether_it_has_ended_a_parent_with_a_broken_child_is_left_alone():
    response = answer(
        "cre-workloadruns", "sync", body(run(), manifest("Workflow", "run", status="odd")), unreadable, NOW
    )
    assert (response.status, response.retry_after) == (429, 10)


def unreadable(read: Read) -> Any:
    return Unreadable("the API server does not answer")


def test_what_cannot_be_understood_is_said_once_and_not_again_at_every_call():
    broken = run()
    broken["metadata"]["labels"] = ["no", "map"]
    said = json.loads(answer("cre-workloadruns", "sync", body(broken), Cluster().read, NOW).body)
    later = body({**broken, "status": said["status"]})
    again = answer("cre-workloadruns", "sync", later, Cluster().read, NOW + timedelta(seconds=5))
    assert json.loads(again.body) == said


def test_a_cluster_that_cannot_be_read_changes_nothing_and_is_asked_again_soon():
    response = answer("cre-workloadruns", "sync", body(run(), manifest("Workflow", "run")), unreadable, NOW)
    assert (response.status, response.retry_after) == (429, 10)


def test_a_broken_parent_is_refused_even_where_the_cluster_cannot_be_read():
    response = answer("cre-workloadruns", "sync", body(run(spec={**SPEC, "numNodes": "two"})), unreadable, NOW)
    failed = next(item for item in json.loads(response.body)["status"]["conditions"] if item["type"] == "Failed")
    assert (response.status, failed["reason"]) == (200, "InvalidSpec")
    assert "spec.numNodes" in failed["message"]


def test_children_of_undeclared_kinds_and_other_namespaces_never_leave():
    raw = json.loads(body(run()))
    raw["children"] = {}
    response = answer("cre-workloadruns", "sync", msgspec.json.encode(raw), Cluster(run()).read, NOW)
    assert json.loads(response.body)["children"] == []


@pytest.mark.parametrize(("controller", "hook"), sorted(HOOKS), ids=lambda value: value)
def test_every_hook_answers_an_empty_parent_without_an_error(controller: str, hook: str):
    kinds = {"cre-workloadruns": "WorkloadRun", "cre-workflows": "Workflow"}
    kind = kinds.get(controller) or ("Job" if "jobs" in controller else "")
    kind = kind or ("BandwidthMeasurement" if "bandwidth" in controller else "GoodputMeasurement")
    parent = manifest(kind, "empty")
    response = answer(controller, hook, body(parent), Cluster(parent).read, NOW)
    assert response.status in (200, 429)


def test_no_json_at_all_is_an_error_of_decoding():
    with pytest.raises(msgspec.DecodeError, match=r"malformed|JSON"):
        answer("cre-workloadruns", "sync", b"not json", Cluster().read, NOW)


@pytest.mark.parametrize("status", [{}, {"verdict": "Passed", "conditions": []}], ids=["under way", "ended"])
def test_a_request_older_than_the_api_never_turns_the_status_back(status: dict[str, Any]):
    newer = run(version="8", status={"workflowRef": {"name": "run"}, "verdict": "Failed"})
    response, answered = sync(run(status=status), Cluster(newer), manifest("Workflow", "run"))
    assert response.status == 200
    assert answered["status"] == {"workflowRef": {"name": "run"}, "verdict": "Failed"}
    assert [child["kind"] for child in answered["children"]] == ["Workflow"]
    assert answered["resyncAfterSeconds"] == 0.5


@pytest.mark.parametrize("kind", ["BandwidthMeasurement", "GoodputMeasurement"])
def test_a_request_older_than_the_end_of_a_measurement_cannot_undo_it(kind: str):
    spec = {"jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": "job"}, "logProfileRef": "profile"}
    complete = {"jobUid": "uid-job", "conditions": [condition("Complete")]}
    cluster = Cluster(manifest(kind, "m", version="8", spec=spec, status=complete))
    older = manifest(kind, "m", spec=spec, status={"jobUid": "uid-job"})
    _, answered = sync(older, cluster, controller=f"cre-{kind.lower()}s")
    assert answered["status"] == complete


# A Job whose TrainJob was made a moment ago; the request still has the status from before.
JOB_SPEC = {"workload": {"trainJob": {"runtimeRef": {"name": "run-runtime"}}}, "timeout": "1h"}
TRAINER = "trainer.kubeflow.org/v1alpha1"
TRAIN_JOB = manifest("TrainJob", "job-w0", apiVersion=TRAINER)
PENDING = {"conditions": [condition("InProgress", reason="WorkloadPending")], "attempt": 0, "workloadPhase": "Pending"}


def test_a_request_older_than_the_api_still_writes_down_what_it_shows():
    cluster = Cluster(manifest("Job", "job", version="8", spec=JOB_SPEC, status=PENDING))
    _, answered = sync(manifest("Job", "job", spec=JOB_SPEC, status={}), cluster, TRAIN_JOB, controller="cre-jobs")
    assert answered["status"]["workloadRef"]["name"] == "job-w0"
    assert [child["kind"] for child in answered["children"]] == ["TrainJob"]


def test_a_request_older_than_the_api_takes_nothing_back_that_is_known():
    known = {"workloadStartTime": "2026-01-01T11:00:00Z", "nodes": ["n1"]}
    running = {"conditions": [condition("InProgress", reason="WorkloadRunning")], "workloadPhase": "Running", **known}
    cluster = Cluster(manifest("Job", "job", version="8", spec=JOB_SPEC, status=running))
    held = {**TRAIN_JOB, "spec": {"suspend": True}}
    _, answered = sync(manifest("Job", "job", spec=JOB_SPEC, status={}), cluster, held, controller="cre-jobs")
    assert (answered["status"], answered["resyncAfterSeconds"]) == (running, 0.5)


def test_a_request_older_than_the_api_makes_nothing():
    cluster = Cluster(manifest("Job", "job", version="8", spec=JOB_SPEC, status=PENDING))
    response, answered = sync(manifest("Job", "job", spec=JOB_SPEC, status={}), cluster, controller="cre-jobs")
    assert (answered["status"], answered["children"], answered["resyncAfterSeconds"]) == (PENDING, [], 0.5)
    assert response.pressing is None  # whether the next one is, the answer before has said


def test_a_request_older_than_the_api_ends_nothing_and_tells_nothing():
    cluster = Cluster(manifest("Job", "job", version="8", spec=JOB_SPEC, status=PENDING))
    failed = {**TRAIN_JOB, "status": {"conditions": [condition("Failed")]}}
    response, answered = sync(manifest("Job", "job", spec=JOB_SPEC), cluster, failed, controller="cre-jobs")
    assert (answered["status"], answered["resyncAfterSeconds"]) == (PENDING, 0.5)
    assert response.events == ()
