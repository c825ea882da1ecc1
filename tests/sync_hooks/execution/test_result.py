"""What a group that has no Job any more, or one that ended, is written down as."""

from __future__ import annotations

import pytest

from sync_hooks.api.request import JobChild
from sync_hooks.execution.groups import LAUNCHING_STOPPED, GroupState
from sync_hooks.execution.result import result_of, went
from sync_hooks.report.iteration import GroupResult
from tests.support.hooks import condition, job_child

STOPPED = f"{LAUNCHING_STOPPED}: exceeded quota"
FAILED = condition("Failed", reason="WorkloadFailed", message="exit 1")
GONE = [{"name": "n1", "reason": "NodeLost"}, {"name": "n2", "reason": "Drained"}]


def result(state: GroupState) -> GroupResult:
    [found] = result_of(1, [state]).groups
    return found


@pytest.mark.parametrize(
    ("state", "reason", "text"),
    [
        pytest.param(GroupState(3, seen=1, retry=1, lost=True), "JobDeleted", "was deleted", id="its Job was deleted"),
        pytest.param(GroupState(3, refused="Job x is another's"), "JobNameCollision", "Job x", id="its name was taken"),
        pytest.param(GroupState(3, refused=STOPPED), "JobCreationError", "exceeded quota", id="no Job could be made"),
    ],
)
def test_a_group_without_a_job_fails_with_the_reason_and_blames_nobody(state: GroupState, reason: str, text: str):
    found = result(state)
    assert (found.group, found.retry, found.failure_reason, found.attribution) == (3, state.retry, reason, "None")
    assert text in found.failure


@pytest.mark.parametrize(
    ("conditions", "failed_nodes", "expected"),
    [
        pytest.param([condition("Succeeded")], [], ("", "", False), id="it succeeded"),
        pytest.param([FAILED], [], ("exit 1", "WorkloadFailed", False), id="it failed"),
        pytest.param([condition("Failed", reason="WorkloadFailed")], [],
                     ("WorkloadFailed", "WorkloadFailed", False), id="it failed and says nothing"),
        pytest.param([FAILED], GONE, ("exit 1", "NodeLost", False), id="its nodes went"),
        pytest.param([FAILED], [*GONE, {"name": "n3", "reason": "WorkloadFailed"}],
                     ("exit 1", "WorkloadFailed", False), id="one of its nodes failed, others went"),
        pytest.param([FAILED, condition("HardwareFailed", reason="Broken", message="n1 broke")], [],
                     ("n1 broke", "Broken", True), id="its hardware failed"),
        pytest.param([condition("Succeeded"), condition("HardwareFailed", "Unknown")], [],
                     ("", "", False), id="its nodes were not watched"),
    ],
)  # fmt: skip
def test_how_a_job_failed_is_written_down(conditions, failed_nodes, expected):
    job = job_child("run-g0-i1", settled=True, drained=True, conditions=conditions, failedNodes=failed_nodes)
    found = result(GroupState(0, seen=0, job=job))
    assert (found.failure, found.failure_reason, found.hardware) == expected


def blaming(attribution: str, *messages: str) -> JobChild:
    named = [{"name": "n1", "reason": "WorkloadFailed", "message": text} for text in messages]
    return job_child("run-g0-i1", conditions=[FAILED], attribution=attribution, failedNodes=named)


@pytest.mark.parametrize(
    ("state", "earlier"),
    [
        pytest.param(GroupState(0, 1, 1, blaming("None"), earlier=(blaming("Node", "one"),)), ["one"], id="by name"),
        pytest.param(GroupState(0, 1, 1, blaming("None"), earlier=(blaming("Group", "one"),)), [], id="as a group"),
        pytest.param(GroupState(0, 2, 2, blaming("None"), earlier=(blaming("Node", "one"), blaming("Node", "two"))),
                     ["two"], id="twice"),
        pytest.param(GroupState(0, 1, 0, blaming("Node", "one"), lost=True), ["one"], id="before one that is lost"),
        pytest.param(GroupState(0, 0, 0, blaming("Node", "one")), [], id="by the last try"),
    ],
)  # fmt: skip
def test_whom_earlier_tries_blamed_by_name_is_written_down(state: GroupState, earlier: list[str]):
    assert [node.message for node in result(state).earlier] == earlier


@pytest.mark.parametrize("attribution", ["None", "Group"])
def test_a_failure_that_blamed_nobody_stands_where_the_nodes_went_before_the_group_was_tried_again(attribution: str):
    drained = job_child("run-g0-i1-t1", conditions=[FAILED], attribution="Node", failedNodes=GONE)
    found = result(GroupState(0, 1, 1, drained, earlier=(blaming(attribution),)))
    assert (found.failure, found.failure_reason) == ("exit 1; tried again: exit 1", "WorkloadFailed")
    assert [node.name for node in found.failed_nodes] == ["n1", "n2"]


def test_what_a_job_found_is_written_down_whole():
    job = job_child(
        "run-g0-i1",
        conditions=[condition("Succeeded"), condition("ValidationFailed", reason="WrongResults", message="3 wrong")],
        attribution="Group",
        nodes=["n1"],
        figures={"busBandwidthGBps": 480.0},
        unmeasured=["goodput: late"],
        remarks=["over sockets"],
        workloadStartTime="2026-01-01T12:00:00Z",
        workloadEndTime="2026-01-01T12:05:00Z",
    )
    found = result(GroupState(0, seen=1, retry=1, job=job))
    assert (found.validation, found.validation_reason, found.attribution) == ("3 wrong", "WrongResults", "Group")
    assert (found.nodes, found.figures) == (("n1",), {"busBandwidthGBps": 480.0})
    assert (found.unmeasured, found.remarks) == (("goodput: late",), ("over sockets",))
    assert (found.retry, found.started, found.ended) == (1, "2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z")


def test_a_job_whose_nodes_are_all_there_did_not_end_because_they_went():
    assert went(job_child("run-g0-i1")) == ""
