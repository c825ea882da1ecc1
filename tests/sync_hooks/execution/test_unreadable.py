"""A cluster that cannot be read: it is said why and since when, clocks go on, and nothing of it stays afterwards."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from sync_hooks import job, workflow, workloadrun
from sync_hooks.api.observed import Metadata, Node
from sync_hooks.api.sync import GetObject, ListKinds, ListNodes, ListPods, Read, Result, Unreadable
from sync_hooks.execution.waiting import unread, wait
from tests.support.asking import Hook, ask
from tests.support.hooks import NAMESPACE, NOW, STAMP, condition, pod, request
from tests.sync_hooks import test_job, test_workflow, test_workloadrun
from tests.sync_hooks.test_workflow import stored_plan

__all__ = ["stored_plan"]  # a fixture
FORBIDDEN = Unreadable("GET /api/v1/pods: 403 pods is forbidden")
SAID = f"the cluster cannot be read: {FORBIDDEN.reason}"
DONE = test_job.train_job(condition("Complete"))
BEFORE = ListPods(NAMESPACE, test_job.ATTEMPT, fresh=True)


def after(hook: Hook, parent: dict[str, Any], children: list[dict[str, Any]], world: Any, seconds: int = 0) -> Result:
    return ask(hook, request(parent, children), world, NOW + timedelta(seconds=seconds))


READS = [
    pytest.param(workloadrun.sync, test_workloadrun.run(), [], test_workloadrun.WORKFLOW, id="of a run: its Workflow"),
    pytest.param(workflow.sync, test_workflow.parent(), [], test_workflow.PLAN, id="of a Workflow: its plan"),
    pytest.param(job.sync, test_job.parent(), [], test_job.TRAIN_JOB, id="of a new Job: its TrainJob"),
    pytest.param(job.sync, test_job.parent(), [], test_job.JOBSET, id="of a new Job: its JobSet"),
    pytest.param(job.sync, test_job.parent({"attempt": 1}), [], BEFORE, id="of a restarted Job: the pods before"),
    pytest.param(job.sync, test_job.parent(), [test_job.train_job()], test_job.JOBSET, id="under way: its JobSet"),
    pytest.param(job.sync, test_job.parent(), [test_job.train_job()], test_job.PODS, id="under way: its pods"),
    pytest.param(job.sync, test_job.parent(), [DONE], test_job.JOBSET, id="at its end: its JobSet"),
]


@pytest.mark.parametrize(("hook", "parent", "children", "read"), READS)
def test_a_read_that_fails_is_told_in_its_own_words_and_since_when(hook, parent, children, read: Read):
    begun = {test_job.JOBSET: test_job.jobset(), test_job.PODS: (pod("p"),)}
    world = (begun if children else {test_job.JOBSET: None}) | {read: FORBIDDEN}
    first = after(hook, parent, children, world)
    assert first.status["waiting"] == {"reason": "ReadFailing", "message": SAID, "since": STAMP}
    assert [child["kind"] for child in first.children] == [child["kind"] for child in children]
    assert first.resync_after > 0
    again = after(hook, {**parent, "status": first.status}, children, world, seconds=24 * 3600)
    assert again.status == first.status


def test_kinds_that_cannot_be_asked_for_are_told_by_the_workflow():
    nodes = tuple(msgspec.structs.replace(node, metadata=_with_product(node)) for node in test_workflow.NODES)
    kinds = ListKinds("resource.nvidia.com/v1beta1")
    world = {ListNodes(max_age=0): nodes, kinds: FORBIDDEN}
    assert after(workflow.sync, test_workflow.parent(), [], world).status["waiting"]["message"] == SAID


def _with_product(node: Node) -> Metadata:
    return msgspec.structs.replace(node.metadata, labels={**node.labels, "nvidia.com/gpu.product": "NVIDIA-GB200"})


# A workload that runs


def running(world: dict[Read, Any], seconds: int = 0, status: dict[str, Any] | None = None, **spec: Any) -> Result:
    known = {test_job.JOBSET: test_job.jobset(), test_job.PODS: (pod("p", node="n1"), pod("q", node="n2"))}
    return after(job.sync, test_job.parent(status, **spec), [test_job.train_job()], known | world, seconds)


def test_the_clock_of_a_workload_goes_on_while_its_pods_cannot_be_read():
    seen = running({})
    blind = running({test_job.PODS: FORBIDDEN}, 60, seen.status)
    assert (blind.status["waiting"]["reason"], blind.status["workloadStartTime"]) == ("ReadFailing", STAMP)
    late = running({test_job.PODS: FORBIDDEN}, 3599, blind.status)
    assert late.status == blind.status
    over = running({test_job.PODS: FORBIDDEN}, 3601, late.status)
    assert test_job.reason(over, "Failed") == "JobTimedOut"


def test_no_clock_starts_for_pods_that_nobody_has_seen():
    blind = running({test_job.PODS: FORBIDDEN})
    later = running({test_job.PODS: FORBIDDEN}, 48 * 3600, blind.status)
    assert "workloadStartTime" not in later.status
    assert later.status["waiting"]["since"] == STAMP


def test_nothing_of_a_read_that_failed_once_stays():
    seen = running({})
    blind = running({test_job.PODS: FORBIDDEN}, 10, seen.status)
    assert running({}, 20, blind.status).status == seen.status


def test_nodes_that_cannot_be_watched_are_told_while_the_workload_runs():
    watched = {"nodeHealthMonitor": {"cel": {"expression": test_job.NOT_READY}}}
    blind = running({ListNodes(): FORBIDDEN}, **watched)
    assert blind.status["waiting"]["reason"] == "ReadFailing"
    assert blind.status["waiting"]["message"] == f"2 pods run, and their nodes are not watched: {FORBIDDEN.reason}"
    assert "waiting" not in running({ListNodes(): ()}, 10, blind.status, **watched).status
    assert "waiting" not in running({ListNodes(): FORBIDDEN}).status


# Waits under way


def test_pods_that_cannot_be_read_hold_up_the_end_of_a_job_for_a_bounded_time_and_it_is_told():
    failed = test_job.failed(attribution="Group", settled=True)
    world = {test_job.FRESH: FORBIDDEN}
    first = after(job.sync, failed, [], world)
    assert first.status["waiting"]["message"] == f"the last pods of the group are going; {SAID}"
    late = after(job.sync, {**failed, "status": first.status}, [], world, seconds=301)
    over = after(job.sync, {**failed, "status": late.status}, [], world, seconds=332)
    assert (over.status["drained"], "waiting" in over.status) == (True, False)


def test_a_wait_under_way_keeps_its_reason_and_its_stamp():
    old = wait(None, "Draining", "the last pods are going", NOW)
    blind = unread(old, "timeout", NOW + timedelta(minutes=1))
    assert (blind.reason, blind.since) == ("Draining", STAMP)
    assert blind.message == "the last pods are going; the cluster cannot be read: timeout"
    assert unread(blind, "timeout", NOW + timedelta(minutes=2)) == blind
    other = unread(blind, "403", NOW + timedelta(minutes=2))
    assert other.message == "the last pods are going; the cluster cannot be read: 403"


# Upwards


def test_what_a_job_cannot_read_is_shown_by_its_workflow_and_the_run(stored_plan):
    blind = {"reason": "ReadFailing", "message": SAID, "since": STAMP}
    children = [
        stored_plan,
        test_workflow.runtime(stored_plan),
        test_workflow.job("run-g0-i1", settled=False, waiting=blind),
        test_workflow.job("run-g1-i1"),
    ]
    above = test_workflow.sync(test_workflow.marked(stored_plan, launched="0-1"), children, {})
    assert above.status["waiting"] == {**blind, "object": "Job/run-g0-i1"}
    top = test_workloadrun.sync(test_workloadrun.run(), [test_workloadrun.workflow(**above.status)], {})
    assert top.status["waiting"] == above.status["waiting"]
    shown = next(item for item in top.status["conditions"] if item["type"] == "InProgress")
    assert SAID in shown["message"]


def test_a_job_of_which_nobody_can_tell_whether_it_is_there_is_told_and_holds_up_no_other(stored_plan):
    gone = GetObject("cre.nvidia.com/v1alpha1", "Job", "run-g0-i1", NAMESPACE)
    children = [stored_plan, test_workflow.runtime(stored_plan)]
    both = [*children, test_workflow.job("run-g1-i1")]
    first = test_workflow.sync(test_workflow.marked(stored_plan, launched="0-1"), both, {gone: FORBIDDEN})
    assert "lost" not in first.status
    assert (first.status["waiting"]["reason"], first.status["waiting"]["since"]) == ("ReadFailing", STAMP)
    again = test_workflow.sync(test_workflow.parent(status=first.status), both, {gone: FORBIDDEN}, seconds=600)
    assert again.status == first.status
    other = test_workflow.sync(test_workflow.marked(stored_plan, launched="0"), children, {gone: FORBIDDEN})
    assert test_workflow.names(other, "Job") == ["run-g1-i1"]
