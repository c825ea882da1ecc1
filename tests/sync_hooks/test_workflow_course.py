"""The Workflow's hook in the course of a run: lost and foreign Jobs, figures on the way, the end and after it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sync_hooks.api.names import iteration_name
from sync_hooks.api.observed import NodeSpec, Told
from sync_hooks.api.sync import GetObject, ListEvents, ListNodes, ListPods, Result, Unreadable
from sync_hooks.planning.plan import PLAN_KEY
from sync_hooks.report.iteration import RESULT_KEY, GroupResult, IterationResult, result_payload
from tests.support.hooks import NAMESPACE, STAMP, condition, live, manifest, pod
from tests.sync_hooks.test_workflow import (
    FOUR_NODES,
    NODES,
    job,
    marked,
    names,
    parent,
    runtime,
    stored_plan,
    sync,
)

__all__ = ["stored_plan"]  # a fixture
JOB = GetObject("cre.nvidia.com/v1alpha1", "Job", "run-g0-i1", NAMESPACE)
PODS = ListPods(NAMESPACE, "run-g0-i1-w0", fresh=True)
TRAIN_JOB = GetObject("trainer.kubeflow.org/v1alpha1", "TrainJob", "run-g0-i1-w0", NAMESPACE)
RUNNING = {"settled": False, "drained": False, "workloadPhase": "Running", "conditions": []}
COVERAGE = {"targeted": 4, "tested": 0, "excluded": 0, "inconclusive": 0}


def true(answer: Result) -> dict[str, str]:
    return {item["type"]: item["reason"] for item in answer.status["conditions"] if item["status"] == "True"}


# What the status remembers


def test_what_the_plan_says_is_written_again_when_it_is_seen_for_its_first_answer_may_have_been_lost(stored_plan):
    answer = sync(parent(), [stored_plan], {})
    assert answer.status["detectedGPUArchitecture"] == "h100"
    assert answer.status["coverage"] == COVERAGE


def test_the_counts_say_since_when_they_stand(stored_plan):
    known = marked(stored_plan, launched="0-1")
    children = [stored_plan, runtime(stored_plan), job("run-g0-i1", **RUNNING), job("run-g1-i1", **RUNNING)]
    first = sync(known, children, {})
    assert first.status["progress"]["since"] == STAMP
    again = sync(parent(status=first.status), children, {}, seconds=100)
    assert again.status == first.status


def test_figures_are_shown_while_the_run_is_under_way(stored_plan):
    known = marked(stored_plan, launched="0-1")
    measured = job("run-g0-i1", figures={"busBandwidthGBps": 480.5})
    answer = sync(known, [stored_plan, runtime(stored_plan), measured, job("run-g1-i1", **RUNNING)], {})
    assert answer.status["results"]["busBandwidthGBps"]["median"] == 480.5


# Jobs that somebody deleted


def deleted(stored_plan, world: dict[Any, Any], seconds: float = 0, **status: Any) -> Result:
    known = marked(stored_plan, launched="0-1", **status)
    return sync(known, [stored_plan, runtime(stored_plan), job("run-g1-i1")], {JOB: None, **world}, seconds=seconds)


@pytest.mark.parametrize(
    "left",
    [
        pytest.param({PODS: (pod("p", node="n0"),)}, id="a pod lives"),
        pytest.param({TRAIN_JOB: live(manifest("TrainJob", "run-g0-i1-w0"))}, id="the TrainJob may still make pods"),
    ],
)
def test_the_nodes_of_a_deleted_job_are_not_free_before_its_pods_are_gone(stored_plan, left):
    answer = deleted(stored_plan, left)
    assert "lost" not in answer.status
    assert answer.status["waiting"]["reason"] == "DeletedJobDraining"
    assert deleted(stored_plan, {}).status["lost"] == "0"


def test_a_pod_of_a_deleted_job_on_a_dead_node_does_not_hold_the_run_for_ever(stored_plan):
    stuck = {PODS: (pod("p", node="n0"),)}
    first = deleted(stored_plan, stuck)
    late = deleted(stored_plan, stuck, 301, waiting=first.status["waiting"])
    assert "lost" not in late.status
    assert deleted(stored_plan, stuck, 332, waiting=late.status["waiting"]).status["lost"] == "0"


def test_a_group_whose_job_was_deleted_fails_and_says_nothing_of_its_nodes(stored_plan):
    known, children = marked(stored_plan, launched="0-1", lost="0"), [stored_plan, runtime(stored_plan)]
    answer, _ = to_the_end(known, [*children, job("run-g1-i1")])
    assert true(answer) == {"Failed": "IterationsFailed"}
    assert "failedNodesRef" not in answer.status
    assert answer.status["coverage"] == {"targeted": 4, "tested": 2, "excluded": 0, "inconclusive": 2}


# Jobs whose name belongs to somebody else


def test_a_group_whose_jobs_name_is_taken_fails_with_the_reason_and_the_others_go_on(stored_plan):
    known, children = marked(stored_plan), [stored_plan, runtime(stored_plan)]
    first = sync(known, children, {JOB: live(manifest("Job", "run-g0-i1"))})
    waiting = parent(status=first.status)
    answer = sync(waiting, [*children, job("run-g1-i1")], {JOB: live(manifest("Job", "run-g0-i1"))}, seconds=31)
    assert "belongs to no run" in answer.status["refused"]["0"]
    assert "Failed" not in true(answer)
    ended, _ = to_the_end(parent(status=answer.status), [*children, job("run-g1-i1")])
    message = next(item["message"] for item in ended.status["conditions"] if item["type"] == "Failed")
    assert "group 0: Job run-g0-i1 exists already and belongs to no run" in message
    assert ended.status["coverage"]["inconclusive"] == 2


# Jobs that cannot be made


def refused(stored_plan, children: list[dict[str, Any]], launched: str = "") -> Result:
    """The answer after five minutes in which the API did not let a Job be made, and a second look."""
    world = {ListEvents(NAMESPACE, "SyncError", "uid-run"): (Told("exceeded quota: jobs"),)}
    answer = sync(marked(stored_plan, **({"launched": launched} if launched else {})), children, world)
    for seconds in (31, 301, 332):
        answer = sync(parent(status=answer.status), children, world, seconds=seconds)
    return answer


def test_where_jobs_cannot_be_made_launching_stops_and_those_that_run_are_judged(stored_plan):
    once = [stored_plan, runtime(stored_plan)]
    answer = refused(stored_plan, [*once, job("run-g0-i1", **RUNNING)], "0")
    assert list(answer.status["refused"]) == ["1"]
    assert names(answer, "Job") == ["run-g0-i1"]
    assert "Failed" not in true(answer)
    later = sync(parent(status=answer.status), [*once, job("run-g0-i1", **RUNNING)], {}, seconds=3600)
    assert (names(later, "Job"), true(later)) == (["run-g0-i1"], {"InProgress": "JobRunning"})
    shown = next(item["message"] for item in later.status["conditions"] if item["status"] == "True")
    assert shown == "1 of 2 groups done"
    ended, _ = to_the_end(parent(status=later.status), [*once, job("run-g0-i1")])
    assert true(ended) == {"Failed": "IterationsFailed"}
    message = next(item["message"] for item in ended.status["conditions"] if item["type"] == "Failed")
    assert "group 1: launching stopped: Job run-g1-i1 cannot be created: exceeded quota: jobs" in message
    assert ended.status["coverage"] == {"targeted": 4, "tested": 2, "excluded": 0, "inconclusive": 2}
    assert "run-g0-i1" in names(ended, "Job")


def test_where_no_job_can_be_made_all_groups_are_given_up_at_once(stored_plan):
    answer = refused(stored_plan, [stored_plan, runtime(stored_plan)])
    assert list(answer.status["refused"]) == ["0-1"]
    ended, _ = to_the_end(parent(status=answer.status), [stored_plan, runtime(stored_plan)])
    assert true(ended) == {"Failed": "IterationsFailed"}
    assert ended.status["coverage"]["inconclusive"] == 4


# The end


def to_the_end(known: dict[str, Any], children: list[dict[str, Any]]) -> tuple[Result, list[dict[str, Any]]]:
    """Follow a run whose Jobs have ended: what is asked for is seen in the next request."""
    for _ in range(5):
        answer = sync(known, children, {})
        seen = {child["metadata"]["name"] for child in children}
        children = [*children, *(child for child in answer.children if child["metadata"]["name"] not in seen)]
        known = parent(status=answer.status)
    return answer, children


def drained(name: str, *nodes: str) -> dict[str, Any]:
    left = [{"name": node, "reason": "Drained", "message": "cordoned while the run was under way"} for node in nodes]
    failed = [condition("Failed", reason="WorkloadFailed", message="killed")]
    return job(name, workloadPhase="Failed", conditions=failed, attribution="Node", failedNodes=left)


def test_a_drained_group_is_no_failure_of_the_run_but_makes_it_incomplete(stored_plan):
    known = marked(stored_plan, launched="0-1")
    children = [stored_plan, runtime(stored_plan), drained("run-g0-i1", "n1"), job("run-g1-i1")]
    answer, _ = to_the_end(known, children)
    assert true(answer) == {"Succeeded": "PartialCoverage"}
    assert answer.status["coverage"] == {"targeted": 4, "tested": 2, "excluded": 1, "inconclusive": 1}
    assert answer.status["excludedNodes"] == [{"name": "n1", "reason": "cordoned while the run was under way"}]


def test_the_end_asks_for_no_other_look(stored_plan):
    known = marked(stored_plan, launched="0-1")
    answer, children = to_the_end(known, [stored_plan, runtime(stored_plan), job("run-g0-i1"), job("run-g1-i1")])
    before = {key: value for key, value in answer.status.items() if key not in ("conditions", "completionTime")}
    ending = sync(parent(status=before), children, {})
    assert (true(ending), ending.resync_after) == ({"Succeeded": "JobCompleted"}, 0)


def test_an_iterations_summary_says_when_it_ran(stored_plan):
    times = {"workloadStartTime": "2026-01-01T12:01:00Z", "workloadEndTime": "2026-01-01T12:09:00Z"}
    known = marked(stored_plan, launched="0-1")
    answer, _ = to_the_end(known, [stored_plan, runtime(stored_plan), job("run-g0-i1", **times), job("run-g1-i1")])
    [summary] = answer.status["iterations"]
    assert (summary["startTime"], summary["completionTime"]) == ("2026-01-01T12:01:00Z", "2026-01-01T12:09:00Z")


def test_a_run_that_fails_on_the_way_leaves_no_node_uncounted(stored_plan):
    known = marked(stored_plan, coverage=COVERAGE)
    broken = {**stored_plan, "binaryData": {PLAN_KEY: "bm9uZQ=="}}
    answer = sync(known, [broken], {})
    assert true(answer) == {"Failed": "PlanLost"}
    assert answer.status["coverage"]["inconclusive"] == 4
    assert answer.status["completionTime"] == STAMP


@pytest.mark.parametrize("tampered", ["result", "list"])
def test_results_that_somebody_changed_are_not_believed(stored_plan, tampered):
    known = marked(stored_plan, launched="0-1")
    start = [stored_plan, runtime(stored_plan), job("run-g0-i1"), job("run-g1-i1")]
    _, children = to_the_end(known, start)
    name = iteration_name("run", 1) if tampered == "result" else "succeeded-nodes-uid-run"
    changed = [{**child, "binaryData": {}} if child["metadata"]["name"] == name else child for child in children]
    answer, _ = to_the_end(known, changed)
    assert true(answer) == {"Failed": "ResultLost"}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(IterationResult(2, (GroupResult(group=0), GroupResult(group=1))), id="another iteration's"),
        pytest.param(IterationResult(1, (GroupResult(group=0),)), id="a group is missing"),
    ],
)
def test_a_result_that_is_not_the_iterations_own_is_not_believed(stored_plan, other):
    known = marked(stored_plan, launched="0-1")
    start = [stored_plan, runtime(stored_plan), job("run-g0-i1"), job("run-g1-i1")]
    asked = sync(known, start, {})
    result = next(child for child in asked.children if child["metadata"]["name"] == iteration_name("run", 1))
    answer = sync(known, [*start, {**result, "binaryData": {RESULT_KEY: result_payload(other)}}], {})
    assert true(answer) == {"Failed": "ResultLost"}


def test_a_result_that_hides_what_was_not_measured_is_not_believed(stored_plan):
    known = marked(stored_plan, launched="0-1")
    start = [stored_plan, runtime(stored_plan), job("run-g0-i1", unmeasured=["a row is torn"]), job("run-g1-i1")]
    honest, children = to_the_end(known, start)
    assert (true(honest), len(honest.status["unmeasured"])) == ({"Succeeded": "JobCompleted"}, 1)
    forged = result_payload(IterationResult(1, (GroupResult(group=0, nodes=["n0", "n1"]), GroupResult(group=1))))
    result = next(child for child in children if child["metadata"]["name"] == iteration_name("run", 1))
    answer = sync(known, [*start, {**result, "binaryData": {RESULT_KEY: forged}}], {})
    assert true(answer) == {"Failed": "ResultLost"}


# After it


def failed_halfway(stored_plan, world: dict[Any, Any], *jobs: dict[str, Any]) -> tuple[Result, Result]:
    """The answers of a run whose plan was destroyed: the one that fails it, and the one after that."""
    broken = {**stored_plan, "binaryData": {PLAN_KEY: "bm9uZQ=="}}
    failed = sync(marked(stored_plan, launched="0-1"), [broken, *jobs], world)
    return failed, sync(parent(status=failed.status), [broken, *jobs], world)


def test_a_run_that_failed_on_the_way_drops_the_jobs_that_run_once_the_api_has_the_verdict(stored_plan):
    running, settling = job("run-g0-i1", **RUNNING), job("run-g1-i1", settled=False, drained=False)
    failed, after = failed_halfway(stored_plan, {JOB: live(running)}, running, settling)
    assert (true(failed), names(failed, "Job")) == ({"Failed": "PlanLost"}, ["run-g0-i1", "run-g1-i1"])
    assert failed.resync_after > 0
    assert (names(after, "Job"), after.status, after.resync_after) == (["run-g1-i1"], failed.status, 0)


@pytest.mark.parametrize(
    ("found", "again"),
    [
        pytest.param(live(job("run-g0-i1", settled=False, drained=False)), 0, id="it has succeeded"),
        pytest.param(live(job("run-g0-i1", conditions=[condition("Failed")], settled=False)), 0, id="it has failed"),
        pytest.param(None, 0, id="it is gone"),
        pytest.param(Unreadable("403 jobs is forbidden"), 10, id="it cannot be read"),
    ],
)
def test_a_job_that_only_a_cache_shows_under_way_is_not_dropped(stored_plan, found, again):
    _, after = failed_halfway(stored_plan, {JOB: found}, job("run-g0-i1", **RUNNING))
    assert (names(after, "Job"), after.resync_after) == (["run-g0-i1"], again)


def test_jobs_of_a_failed_run_are_dropped_some_at_a_time_and_those_that_are_going_are_not_asked_for(stored_plan):
    jobs = [job(f"run-g{number}-i1", **RUNNING) for number in range(45)]
    world = {GetObject(JOB.api_version, "Job", item["metadata"]["name"], NAMESPACE): live(item) for item in jobs}
    _, first = failed_halfway(stored_plan, world, *jobs)
    assert (len(names(first, "Job")), first.resync_after) == (25, 1)
    kept = set(names(first, "Job"))
    for item in jobs:
        if item["metadata"]["name"] not in kept:
            item["metadata"]["deletionTimestamp"] = STAMP
    _, second = failed_halfway(stored_plan, world, *jobs)
    assert (len(kept.intersection(names(second, "Job"))), second.resync_after) == (5, 1)


def retained(stored_plan, seconds: float, annotation: str = "1h") -> Result:
    known = marked(stored_plan, conditions=[condition("Succeeded")], completionTime=STAMP)
    known["metadata"]["annotations"] = {"cre.nvidia.com/retention": annotation}
    children = [stored_plan, runtime(stored_plan), job("run-g0-i1"), job("run-g1-i1", drained=False)]
    return sync(known, children, {}, seconds=seconds)


def test_finished_jobs_go_after_the_retention_and_everything_else_stays(stored_plan):
    early = retained(stored_plan, 3599)
    assert (names(early, "Job"), early.resync_after) == (["run-g0-i1", "run-g1-i1"], 2)
    late = retained(stored_plan, 3601)
    assert names(late, "Job") == ["run-g1-i1"]  # it still holds its nodes
    assert names(late, "ConfigMap") == ["run-plan"]
    assert late.status == early.status


def test_a_retention_of_no_time_lets_finished_jobs_go_at_once(stored_plan):
    assert names(retained(stored_plan, 0, "0s"), "Job") == ["run-g1-i1"]


@pytest.mark.parametrize("annotation", ["", "soon", "-1h"])
def test_without_a_readable_retention_jobs_stay(stored_plan, annotation):
    answer = retained(stored_plan, 1e9, annotation)
    assert (len(names(answer, "Job")), answer.resync_after) == (2, 0)


# Planning


def test_a_cluster_whose_nodes_come_late_is_planned_after_an_outage_too():
    first = sync(parent(), [], FOUR_NODES | {ListNodes(max_age=0): ()})
    after = sync(parent(status=first.status), [], FOUR_NODES | {ListNodes(max_age=0): ()}, seconds=7200)
    assert true(after) == {"InProgress": "WaitingForNodes"}
    answer = sync(parent(status=after.status), [], FOUR_NODES, seconds=7210)
    assert names(answer, "ConfigMap") == ["run-plan"]
    assert len(NODES) == msgspec.json.decode(msgspec.json.encode(answer.status))["coverage"]["targeted"]


@pytest.mark.parametrize(
    ("nodes", "coverage"),
    [
        pytest.param((), None, id="there are no nodes"),
        pytest.param(NODES, {"targeted": 4, "tested": 0, "excluded": 4, "inconclusive": 0}, id="none of them is fit"),
    ],
)
def test_where_planning_fails_the_nodes_that_were_left_out_are_counted(nodes, coverage):
    unfit = tuple(msgspec.structs.replace(node, spec=NodeSpec(unschedulable=True)) for node in nodes)
    answer = sync(parent(), [], {ListNodes(max_age=0): unfit})
    for seconds in (301, 332):
        answer = sync(parent(status=answer.status), [], {ListNodes(max_age=0): unfit}, seconds=seconds)
    assert list(true(answer)) == ["Failed"]
    assert answer.status.get("coverage") == coverage
