"""The Workflow's hook: what it makes, what it waits for, and what it never does twice."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from sync_hooks import workflow
from sync_hooks.api.names import iteration_name, plan_name
from sync_hooks.api.observed import LiveObject, Node
from sync_hooks.api.sync import (
    Busy,
    GetLogProfile,
    GetObject,
    ListNodes,
    ListObjects,
    Observed,
    Read,
    Reads,
    Result,
    Unreadable,
)
from sync_hooks.planning.plan import PLAN_KEY, decode, encode
from tests.support.asking import ask, installed
from tests.support.hooks import NAMESPACE, NOW, STAMP, condition, live, manifest, reads, request
from webhook.answering import MOST_ROUNDS

SPEC = {"image": "img", "numNodes": 2, "framework": {"exec": {"command": ["true"]}}}
PLAN = GetObject("v1", "ConfigMap", "run-plan", NAMESPACE)
FINAL = {"settled": True, "drained": True, "workloadPhase": "Succeeded", "conditions": [condition("Succeeded")]}


def node(name: str) -> Node:
    labels = {
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    }
    status = {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [condition("Ready")]}
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}, Node)


def many(count: int) -> tuple[Node, ...]:
    return tuple(node(f"n{number}") for number in range(count))


NODES = many(4)


def parent(**changes: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", **{"spec": SPEC, **changes})


FOUR_NODES: dict[Read, Any] = {ListNodes(max_age=0): NODES}
RUNS = ListObjects("cre.nvidia.com/v1alpha1", "Workflow")


def another_run() -> LiveObject:
    plan = {"name": "other-plan", "sha256": "x", "version": 1}
    return live(manifest("Workflow", "other", status={"plan": plan}, metadata={"namespace": "team"}))


def sync(workflow_: dict[str, Any], children: list[dict[str, Any]], observed: Observed, seconds: int = 0) -> Result:
    return ask(workflow.sync, request(workflow_, children), observed, NOW + timedelta(seconds=seconds))


def names(answer: Result, kind: str) -> list[str]:
    return [child["metadata"]["name"] for child in answer.children if child["kind"] == kind]


@pytest.fixture(scope="module")
def stored_plan() -> dict[str, Any]:
    answer = sync(parent(), [], FOUR_NODES)
    return next(child for child in answer.children if child["metadata"]["name"] == plan_name("run"))


@pytest.fixture(scope="module")
def twice() -> dict[str, Any]:
    """The plan of a run of two iterations."""
    workflow_ = parent(spec={**SPEC, "orchestration": {"repeatCount": 2}})
    answer = sync(workflow_, [], FOUR_NODES)
    return next(child for child in answer.children if child["metadata"]["name"] == plan_name("run"))


def marked(stored_plan: dict[str, Any], **status: Any) -> dict[str, Any]:
    """A Workflow whose plan has been observed."""
    marker = sync(parent(), [stored_plan], {}).status["plan"]
    return parent(status={"plan": marker, **status})


def plan_of(stored_plan: dict[str, Any]):
    return decode(base64.b64decode(stored_plan["binaryData"][PLAN_KEY]))


def runtime(stored_plan: dict[str, Any]) -> dict[str, Any]:
    return plan_of(stored_plan).runtime


def job(name: str, **status: Any) -> dict[str, Any]:
    return manifest("Job", name, status={**FINAL, **status})


# Planning


def test_before_planning_the_plan_is_looked_for_live():
    assert reads(workflow.sync(request(parent()), {}, NOW)) == (PLAN,)


def test_planning_makes_the_plan_and_nothing_else(stored_plan):
    answer = sync(parent(), [], FOUR_NODES)
    assert [child["metadata"]["name"] for child in answer.children] == ["run-plan"]
    assert [group.nodes for group in plan_of(stored_plan).groups] == [("n0", "n1"), ("n2", "n3")]
    assert answer.status["detectedGPUArchitecture"] == "h100"
    assert "plan" not in answer.status


def test_a_plan_that_is_there_but_not_visible_is_not_made_again():
    mine = manifest("ConfigMap", "run-plan", apiVersion="v1")
    mine["metadata"]["ownerReferences"] = [{"uid": "uid-run", "controller": True}]
    answer = sync(parent(), [], FOUR_NODES | {PLAN: live(mine)})
    assert answer.children == ()
    assert answer.resync_after > 0


def test_a_foreign_config_map_of_the_plans_name_fails_the_workflow():
    foreign = manifest("ConfigMap", "run-plan", apiVersion="v1")
    answer = sync(parent(), [], FOUR_NODES | {PLAN: live(foreign)})
    failed = next(item for item in answer.status["conditions"] if item["type"] == "Failed")
    assert (failed["status"], failed["reason"]) == ("True", "PlanNameCollision")


def test_nodes_are_waited_for_then_their_absence_is_a_failure():
    first = sync(parent(), [], FOUR_NODES | {ListNodes(max_age=0): ()})
    assert first.status["waiting"]["reason"] == "NodeDiscoveryError"
    waiting = parent(status=first.status)
    later = sync(waiting, [], FOUR_NODES | {ListNodes(max_age=0): ()}, seconds=299)
    assert later.status["waiting"]["since"] == STAMP
    late = parent(status=sync(waiting, [], {}, seconds=301).status)
    last = sync(late, [], {}, seconds=332)
    assert {item["type"]: item["status"] for item in last.status["conditions"]}["Failed"] == "True"


def test_nodes_that_cannot_be_read_are_waited_for_too():
    answer = sync(parent(), [], FOUR_NODES | {ListNodes(max_age=0): Unreadable("timeout")})
    assert answer.status["waiting"]["message"] == "timeout"


MEASURED = {**SPEC, "bandwidthMeasurement": {"logProfileRef": "late"}}
LATE = GetLogProfile("late")


def failure(answer: Result) -> dict[str, Any]:
    return next((item for item in answer.status["conditions"] if item["type"] == "Failed"), {})


def test_a_profile_that_comes_a_minute_later_is_waited_for_and_the_run_is_planned():
    first = sync(parent(spec=MEASURED), [], FOUR_NODES)
    progress = next(item for item in first.status["conditions"] if item["type"] == "InProgress")
    assert (progress["status"], progress["reason"]) == ("True", "WaitingForProfile")
    assert first.status["waiting"]["reason"] == "WaitingForProfile"
    assert (first.children, first.resync_after > 0) == ((), True)
    there = FOUR_NODES | {LATE: installed()["nccl-bandwidth"]}
    second = sync(parent(spec=MEASURED, status=first.status), [], there, seconds=60)
    assert names(second, "ConfigMap") == [plan_name("run")]


def test_a_profile_that_never_comes_fails_the_run_after_five_minutes_although_some_reads_fail():
    status: dict[str, Any] = {}
    for seconds in range(0, 330, 15):
        found = Unreadable("timeout") if seconds % 45 else None
        answer = sync(parent(spec=MEASURED, status=status), [], FOUR_NODES | {LATE: found}, seconds)
        assert failure(answer).get("status") != "True", seconds
        status = answer.status
    last = sync(parent(spec=MEASURED, status=status), [], FOUR_NODES, seconds=345)
    assert (failure(last)["status"], failure(last)["reason"]) == ("True", "LogProfileNotFound")
    assert "LogProfile late does not exist: create it, or name another" in failure(last)["message"]


def test_a_profile_without_the_pattern_that_is_needed_fails_the_run_at_once():
    spec = {**SPEC, "bandwidthMeasurement": {"logProfileRef": "megatron-training"}}
    answer = sync(parent(spec=spec), [], FOUR_NODES)
    assert failure(answer)["reason"] == "LogProfileInvalid"
    assert "spec.patterns.bandwidthResult is missing" in failure(answer)["message"]


def test_a_plan_with_everything_to_read_is_made_in_as_many_rounds_as_the_edge_allows():
    rounds, observed = 0, dict[Read, Any]()
    world = FOUR_NODES | {LATE: installed()["nccl-bandwidth"], RUNS: (another_run(),)}
    waiting = {"reason": "ConfigMapNotSeen", "message": "", "since": STAMP, "object": "ConfigMap/run-plan"}
    unseen = request(parent(spec=MEASURED, status={"waiting": waiting}))
    while isinstance(answer := workflow.sync(unseen, observed, NOW + timedelta(seconds=60)), Reads):
        rounds += 1
        observed |= {read: world.get(read, None if isinstance(read, GetObject) else ()) for read in answer.reads}
    own_kinds = 1  # a round more where Jobs bring objects of their own
    assert isinstance(answer, Result)
    assert rounds + own_kinds < MOST_ROUNDS


def test_a_spec_that_no_admission_would_let_in_fails_with_its_path():
    broken = parent(spec={**SPEC, "numNodes": "two"})
    answer = sync(broken, [], FOUR_NODES)
    failed = next(item for item in answer.status["conditions"] if item["type"] == "Failed")
    assert failed["reason"] == "InvalidSpec"
    assert "spec.numNodes" in failed["message"]


# The plan, once it is there


def test_no_job_is_made_before_the_plans_hash_stands_in_the_status(stored_plan):
    answer = sync(parent(), [stored_plan], {})
    assert answer.status["plan"]["name"] == "run-plan"
    assert names(answer, "Job") == []


def test_a_plan_that_changed_is_not_followed(stored_plan):
    changed = plan_of(stored_plan)
    content = base64.b64encode(encode(msgspec.structs.replace(changed, platform="aws"))).decode()
    answer = sync(marked(stored_plan), [{**stored_plan, "binaryData": {PLAN_KEY: content}}], {})
    failed = next(item for item in answer.status["conditions"] if item["type"] == "Failed")
    assert failed["reason"] == "PlanLost"


def test_a_plan_that_is_gone_is_not_made_again(stored_plan):
    known = marked(stored_plan)
    answer = sync(known, [], FOUR_NODES)
    failed = next(item for item in answer.status["conditions"] if item["type"] == "Failed")
    assert failed["reason"] == "PlanLost"


def test_a_plan_of_another_version_is_left_to_whoever_made_it(stored_plan):
    content = encode(msgspec.structs.replace(plan_of(stored_plan), version=99))
    other = {**stored_plan, "binaryData": {PLAN_KEY: base64.b64encode(content).decode()}}
    assert isinstance(workflow.sync(request(parent(), [other]), {}, NOW), Busy)


def test_the_runtime_comes_before_any_job(stored_plan):
    known = marked(stored_plan)
    answer = sync(known, [stored_plan], {})
    assert names(answer, "TrainingRuntime") == ["run-runtime"]
    assert names(answer, "Job") == []


def test_jobs_hold_on_to_their_runtime_so_that_foreground_deletion_ends(stored_plan):
    known = marked(stored_plan)
    answer = sync(known, [stored_plan, runtime(stored_plan)], {})
    assert names(answer, "Job") == ["run-g0-i1", "run-g1-i1"]
    made = next(child for child in answer.children if child["kind"] == "Job")
    [owner] = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["blockOwnerDeletion"]) == ("TrainingRuntime", "uid-run-runtime", True)


# Following


def test_what_exists_is_answered_as_stubs(stored_plan):
    known = marked(stored_plan, launched="0-1")
    children = [stored_plan, runtime(stored_plan), job("run-g0-i1", settled=False), job("run-g1-i1", settled=False)]
    answer = sync(known, children, {})
    assert all(set(child) == {"apiVersion", "kind", "metadata"} for child in answer.children)
    assert all(set(child["metadata"]) == {"name"} for child in answer.children)


def test_a_job_that_is_gone_live_was_deleted_and_fails_its_group(stored_plan):
    known = marked(stored_plan, launched="0-1")
    children = [stored_plan, runtime(stored_plan), job("run-g1-i1")]
    gone = GetObject("cre.nvidia.com/v1alpha1", "Job", "run-g0-i1", NAMESPACE)
    wanted = reads(workflow.sync(request(known, children), {}, NOW))
    assert wanted == (gone,)
    answer = sync(known, children, {gone: None})
    assert answer.status["lost"] == "0"
    assert "run-g0-i1" not in names(answer, "Job")


def test_a_job_that_only_the_cache_misses_is_waited_for(stored_plan):
    known = marked(stored_plan, launched="0-1")
    gone = GetObject("cre.nvidia.com/v1alpha1", "Job", "run-g0-i1", NAMESPACE)
    observed = {gone: live(job("run-g0-i1"))}
    answer = sync(known, [stored_plan, runtime(stored_plan), job("run-g1-i1")], observed)
    assert "lost" not in answer.status
    assert names(answer, "Job") == ["run-g1-i1"]


def finished(stored_plan: dict[str, Any], **status: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    children = [stored_plan, runtime(stored_plan), job("run-g0-i1"), job("run-g1-i1")]
    return marked(stored_plan, launched="0-1", **status), children


def test_an_iteration_ends_with_a_result_that_is_written_once(stored_plan):
    known, children = finished(stored_plan)
    answer = sync(known, children, {})
    assert iteration_name("run", 1) in names(answer, "ConfigMap")
    assert "iterations" not in answer.status


def test_node_lists_and_the_end_come_only_after_the_result_is_observed(stored_plan):
    known, children = finished(stored_plan)
    result = next(c for c in sync(known, children, {}).children if "iteration" in c["metadata"]["name"])
    noted = sync(known, [*children, result], {})
    [summary] = noted.status["iterations"]
    assert (summary["iteration"], summary["succeeded"], summary["failed"]) == (1, 2, 0)
    assert summary["result"] == "run-iteration-1"
    known = parent(status=noted.status)
    lists = [c for c in noted.children if c["metadata"]["name"].startswith("succeeded-nodes")]
    assert len(lists) == 1
    assert "Succeeded" not in {item["type"] for item in noted.status["conditions"] if item["status"] == "True"}
    ended = sync(known, [*children, result, *lists], {})
    assert {item["type"]: item["status"] for item in ended.status["conditions"]}["Succeeded"] == "True"
    assert ended.status["succeededNodesRef"]["name"] == lists[0]["metadata"]["name"]
    assert ended.status["coverage"] == {"targeted": 4, "tested": 4, "excluded": 0, "inconclusive": 0}
    again = sync(parent(status=ended.status), [*children, result, *lists], {})
    assert again.status == ended.status


def test_the_next_iteration_begins_in_the_answer_that_notes_the_one_before(twice):
    known, children = finished(twice)
    result = next(c for c in sync(known, children, {}).children if "iteration" in c["metadata"]["name"])
    noted = sync(known, [*children, result], {})
    assert [item["iteration"] for item in noted.status["iterations"]] == [1]
    assert names(noted, "Job") == ["run-g0-i1", "run-g1-i1", "run-g0-i2", "run-g1-i2"]
    assert noted.status["progress"]["iteration"] == 2
    after = sync(parent(status=noted.status), [*children, result, job("run-g0-i2", settled=False)], {})
    assert "run-g0-i1" not in names(after, "Job")  # not before its result stands in what the API has


def test_an_answer_that_was_not_written_down_launches_nothing_twice(twice):
    known, children = finished(twice)
    result = next(c for c in sync(known, children, {}).children if "iteration" in c["metadata"]["name"])
    under_way = {"settled": False, "drained": False, "workloadPhase": "Running", "conditions": []}
    made = [job("run-g0-i2", **under_way), job("run-g1-i2", **under_way)]
    again = sync(known, [*children, result, *made], {})
    assert [item["iteration"] for item in again.status["iterations"]] == [1]
    assert all(set(child) == {"apiVersion", "kind", "metadata"} for child in again.children)
    assert (again.status["launched"], again.status["progress"]["running"]) == ("0-1", 2)


@pytest.mark.parametrize("size", [2, 200])
def test_only_where_nothing_else_goes_on_is_the_next_request_pressing(stored_plan, size):
    known, children = finished(stored_plan)
    assert sync(known, children, {}).pressing is True
    running = [child if child["kind"] != "Job" else job(child["metadata"]["name"], settled=False) for child in children]
    assert sync(known, running, {}).pressing is False
    plan = ask(workflow.sync, request(parent(), []), {ListNodes(max_age=0): many(size)}, NOW).children[0]
    launching = sync(marked(plan), [plan, runtime(plan)], {})
    assert (len(names(launching, "Job")), launching.pressing) == (min(size // 2, 100), size == 200)


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        pytest.param("uid-run", "InProgress", id="the cache does not show it yet"),
        pytest.param("uid-of-another", "Failed", id="another has taken its name"),
    ],
)
def test_a_result_that_is_not_seen_has_been_deleted_only_if_a_live_read_says_so(stored_plan, uid, expected):
    summary = [{"iteration": 1, "succeeded": 2, "failed": 0, "result": "run-iteration-1"}]
    known, children = finished(stored_plan, iterations=summary)
    owner = {"apiVersion": "v1", "kind": "Workflow", "name": "run", "uid": uid, "controller": True}
    there = live(manifest("ConfigMap", "run-iteration-1", apiVersion="v1", metadata={"ownerReferences": [owner]}))
    answer = sync(known, children, {GetObject("v1", "ConfigMap", "run-iteration-1", "default"): there})
    states = {item["type"]: item["status"] for item in answer.status.get("conditions") or ()}
    assert (states.get("Failed") == "True") is (expected == "Failed")
    if expected == "InProgress":
        assert answer.status["waiting"]["reason"] == "ResultNotSeen"


def test_a_result_that_somebody_deleted_fails_the_workflow(stored_plan):
    summary = [{"iteration": 1, "succeeded": 2, "failed": 0, "result": "run-iteration-1"}]
    known, children = finished(stored_plan, iterations=summary)
    answer = sync(known, children, {})
    failed = next(item for item in answer.status["conditions"] if item["type"] == "Failed")
    assert failed["reason"] == "ResultLost"
