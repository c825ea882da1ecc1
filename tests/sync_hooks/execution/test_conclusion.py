"""How a Workflow ends: every iteration counts, a node that went is no failure, the worst reason is named first."""

from __future__ import annotations

import pytest

from sync_hooks.api.conditions import find, is_true
from sync_hooks.api.model import LONGEST_MESSAGE, Condition
from sync_hooks.api.request import FailedNodeFacts
from sync_hooks.execution.conclusion import conclude, remarks_of, unmeasured_of
from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.iteration import GroupResult, IterationResult
from sync_hooks.report.nodes import node_verdicts
from tests.support.hooks import NOW

PLAN = Plan(groups=(Group(nodes=("a", "b")), Group(nodes=("c", "d"))), targeted=5, exclusions=(("e", "cordoned"),))
TWICE = Plan(groups=PLAN.groups, targeted=4, iterations=2)
GOOD = (GroupResult(group=0), GroupResult(group=1))


def failed(group: int, reason: str = "WorkloadFailed", *, hardware: bool = False) -> GroupResult:
    return GroupResult(group=group, failure=f"{reason} of it", failure_reason=reason, hardware=hardware)


def violated(group: int, reason: str) -> GroupResult:
    return GroupResult(group=group, validation=f"{reason} of it", validation_reason=reason)


def concluded(plan: Plan, *iterations: tuple[GroupResult, ...]) -> tuple[Condition, ...]:
    results = [IterationResult(number, groups) for number, groups in enumerate(iterations, 1)]
    return conclude((), plan, results, node_verdicts(plan, results), NOW)


def message(conditions: tuple[Condition, ...], type_: str) -> str:
    found = find(conditions, type_)
    assert found is not None
    assert found.status == "True"
    return f"{found.reason}: {found.message}"


def test_a_node_that_failed_in_an_earlier_iteration_is_not_forgotten_in_the_end():
    conditions = concluded(TWICE, (failed(0, hardware=True), GOOD[1]), GOOD)
    assert message(conditions, "Failed") == "JobHardwareFailed: group 0 in iteration 1: WorkloadFailed of it"


def test_a_group_that_was_bad_once_fails_the_run():
    assert message(concluded(TWICE, (GOOD[0], failed(1)), GOOD), "Failed").startswith("IterationsFailed: group 1 in")


def test_nodes_that_were_left_out_make_the_coverage_partial():
    text = message(concluded(PLAN, GOOD), "Succeeded")
    assert text == "PartialCoverage: 2 groups ran; 1 of 5 targeted nodes were not tested"


def test_everything_tested_is_said_plainly():
    assert message(concluded(TWICE, GOOD, GOOD), "Succeeded") == (
        "JobCompleted: 2 groups ran 2 times on all 4 targeted nodes"
    )


def test_blame_of_an_earlier_try_fails_the_run_as_long_as_it_stands():
    before = (FailedNodeFacts(name="a", reason="WorkloadFailed", message="exit 1"),)
    drained = (FailedNodeFacts(name="b", reason="Drained"),)
    last = GroupResult(failure="x", failure_reason="Drained", attribution="Node", failed_nodes=drained, earlier=before)
    text = "IterationsFailed: group 0: node a failed in an earlier try: exit 1"
    assert message(concluded(PLAN, (last, GOOD[1])), "Failed") == text
    assert is_true(concluded(TWICE, (last, GOOD[1]), GOOD), "Succeeded")


@pytest.mark.parametrize("reason", ["Drained", "NodeLost", "NodeNotReady"])
def test_a_node_that_went_is_no_failure_of_the_run(reason):
    conditions = concluded(PLAN, (failed(0, reason), GOOD[1]))
    assert message(conditions, "Succeeded").startswith("PartialCoverage")


def test_a_violation_stands_beside_success_with_the_gravest_reason():
    conditions = concluded(TWICE, (violated(0, "MeasurementTimeout"), violated(1, "WrongResults")), GOOD)
    assert is_true(conditions, "Succeeded")
    text = message(conditions, "ValidationFailed")
    assert text.startswith("WrongResults: group 0 in iteration 1: MeasurementTimeout of it; group 1")


def test_of_many_groups_the_first_are_named_and_the_rest_is_counted():
    plan = Plan(groups=tuple(Group(nodes=(f"n{number}",)) for number in range(30)), targeted=30)
    text = message(concluded(plan, tuple(failed(number) for number in range(30))), "Failed")
    assert text.endswith("group 9: WorkloadFailed of it; and 20 more")


@pytest.mark.parametrize("iterations", [1, 2])
def test_however_long_the_words_of_a_kubelet_are_each_group_is_named_and_the_message_can_be_stored(iterations: int):
    plan = Plan(groups=tuple(Group(nodes=(f"n{number}",)) for number in range(30)), iterations=iterations)
    groups = tuple(GroupResult(group=number, failure="x" * 11_428, failure_reason="Late") for number in range(30))
    text = message(concluded(plan, *[groups] * iterations), "Failed")
    assert len(text) < LONGEST_MESSAGE
    assert "; group 9" in text
    assert text.endswith(f"; and {30 * iterations - 10} more")


def test_what_was_not_measured_is_named_by_group_and_iteration():
    result = IterationResult(2, (GroupResult(group=1, unmeasured=("bandwidth: not measured within 5m",)),))
    assert unmeasured_of([result]) == ["group 1 in iteration 2: bandwidth: not measured within 5m"]


def test_a_group_that_passed_only_on_a_retry_is_named_and_one_that_failed_all_the_same_is_not():
    tried = GroupResult(group=0, retry=2, remarks=("over sockets",))
    result = IterationResult(1, (tried, GroupResult(group=1, retry=1, failure="again")))
    assert remarks_of(PLAN, [result]) == [
        "group 0: failed and passed only when tried again, on retry 2",
        "group 0: over sockets",
    ]
    assert remarks_of(PLAN, [IterationResult(1, GOOD)]) == []


def test_what_is_remarked_of_many_groups_is_one_remark_and_hides_no_other():
    plan = Plan(groups=tuple(Group(nodes=(f"n{number}",)) for number in range(30)), targeted=30, iterations=2)
    groups = [GroupResult(group=number, remarks=("not checked",)) for number in range(30)]
    groups[7] = GroupResult(group=7, retry=1)
    second = IterationResult(2, tuple(groups[:4:2]))
    assert remarks_of(plan, [IterationResult(1, tuple(groups)), second]) == [
        "groups 0-6, 8-29 in iteration 1: not checked",
        "group 7 in iteration 1: failed and passed only when tried again, on retry 1",
        "groups 0, 2 in iteration 2: not checked",
    ]


def test_another_test_than_the_one_asked_for_is_the_gravest_reason():
    conditions = concluded(PLAN, (violated(0, "WrongResults"), violated(1, "RanksApart")))
    assert message(conditions, "ValidationFailed").startswith("RanksApart")


def test_nodes_of_a_group_that_had_no_worker_are_named():
    results = [IterationResult(1, (GroupResult(group=0, nodes=("a", "a")), GroupResult(group=1, nodes=("d", "c"))))]
    assert remarks_of(PLAN, results) == ["group 0: no worker ran on b"]
