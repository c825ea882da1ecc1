"""Node lists: disjoint, complete, and every node judged by its own last verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from sync_hooks.api.request import FailedNodeFacts
from sync_hooks.api.workflow import Coverage
from sync_hooks.execution.conclusion import coverage_of, left_out
from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.iteration import GroupResult, IterationResult
from sync_hooks.report.nodes import node_verdicts

GROUPS = (Group(nodes=("a", "b")), Group(nodes=("c", "d")), Group(nodes=("d", "e"), overflow=True, lent=("d",)))
PLAN = Plan(groups=GROUPS, targeted=5)


def good(group: int) -> GroupResult:
    return GroupResult(group=group)


def bad(group: int, *names: str) -> GroupResult:
    blamed = tuple(FailedNodeFacts(name=name, reason="WorkloadFailed", message="exit 1") for name in names)
    return GroupResult(group=group, failure="x", attribution="Node" if names else "Group", failed_nodes=blamed)


def judge(*iterations: tuple[GroupResult, ...]):
    return node_verdicts(PLAN, [IterationResult(number, groups) for number, groups in enumerate(iterations, 1)])


def test_all_good():
    found = judge((good(0), good(1), good(2)))
    assert found.succeeded == ("a", "b", "c", "d", "e")
    assert (found.failed, found.inconclusive) == ((), ())


def test_the_others_of_a_group_with_a_blamed_node_are_in_neither_list():
    found = judge((bad(0, "a"), good(1), good(2)))
    assert [node.name for node in found.failed] == ["a"]
    assert found.inconclusive == ("b",)


def test_an_unattributed_failure_fails_the_whole_group():
    found = judge((bad(0), good(1), good(2)))
    assert [node.name for node in found.failed] == ["a", "b"]
    assert "not attributed" in found.failed[0].message


def test_a_lent_node_keeps_its_home_verdict_unless_it_is_blamed_by_name():
    assert "d" in judge((good(0), good(1), bad(2))).succeeded
    assert [node.name for node in judge((good(0), good(1), bad(2, "d"))).failed] == ["d"]


def test_the_last_verdict_counts():
    assert "a" in judge((bad(0, "a"), good(1), good(2)), (good(0), good(1), good(2))).succeeded


def test_a_group_that_blames_nobody_says_nothing_of_its_nodes():
    nobody = GroupResult(group=0, failure="deleted", attribution="None")
    assert judge((nobody, good(1), good(2))).inconclusive == ("a", "b")


def gone(group: int, name: str, reason: str = "Drained") -> GroupResult:
    left = (FailedNodeFacts(name=name, reason=reason, message="cordoned while the run was under way"),)
    return GroupResult(group=group, failure="x", failure_reason=reason, attribution="Node", failed_nodes=left)


def test_a_node_that_went_is_excluded_and_the_others_of_its_group_are_inconclusive():
    found = judge((gone(0, "a"), good(1), good(2)))
    assert [node.name for node in found.excluded] == ["a"]
    assert (found.inconclusive, found.failed) == (("b",), ())


def test_a_node_that_went_once_is_not_good_before_or_after():
    for iterations in (
        ((good(0), good(1), good(2)), (gone(0, "a"), good(1), good(2))),
        ((gone(0, "a"), good(1), good(2)), (good(0), good(1), good(2))),
    ):
        found = judge(*iterations)
        assert [node.name for node in found.excluded] == ["a"]
        assert "b" in found.succeeded


def test_a_node_that_failed_stays_failed_when_it_goes():
    found = judge((bad(0, "a"), good(1), good(2)), (gone(0, "a"), good(1), good(2)))
    assert [node.name for node in found.failed] == ["a"]
    assert found.excluded == ()


def test_where_the_scheduler_chose_only_the_nodes_that_it_chose_are_judged():
    plan = Plan(groups=(Group(),), candidates=("a", "b", "c"), unpinned=True, targeted=3)
    ran = GroupResult(group=0, nodes=("b", "c", "elsewhere"))
    found = node_verdicts(plan, [IterationResult(1, (ran,))])
    assert (found.succeeded, found.inconclusive) == (("b", "c"), ("a",))


def test_a_node_that_joined_later_is_listed_where_it_is_to_blame_and_covers_nothing_that_was_targeted():
    plan = Plan(groups=(Group(),), candidates=("a", "b"), unpinned=True, targeted=2)
    by_name = node_verdicts(plan, [IterationResult(1, (structs.replace(bad(0, "new"), nodes=("a", "new")),))])
    assert ([node.name for node in by_name.failed], by_name.inconclusive) == (["new"], ("a", "b"))
    assert coverage_of(plan, by_name).tested == 0
    group = structs.replace(bad(0), nodes=("a", "new"))
    assert [node.name for node in node_verdicts(plan, [IterationResult(1, (group,))]).failed] == ["a", "new"]
    passed = GroupResult(nodes=("a", "new"))
    found = node_verdicts(plan, [IterationResult(1, (group,)), IterationResult(2, (passed,))])
    assert (found.succeeded, found.failed) == (("a",), ())
    left = structs.replace(gone(0, "new"), nodes=("a", "new"))
    assert node_verdicts(plan, [IterationResult(1, (left,))]).excluded == ()
    assert judge((bad(0, "new"), good(1), good(2))).failed == ()  # no worker of a pinned group runs elsewhere


def test_a_node_that_was_left_out_and_ran_after_all_is_counted_once():
    plan = Plan(groups=(Group(),), candidates=("a", "b"), exclusions=(("c", "cordoned"),), unpinned=True, targeted=3)
    outcome = structs.replace(bad(0, "c"), nodes=("a", "c"))
    verdicts = node_verdicts(plan, [IterationResult(1, (outcome,))])
    assert left_out(plan, verdicts) == {}
    assert coverage_of(plan, verdicts) == Coverage(targeted=3, tested=1, excluded=0, inconclusive=2)
    untouched = node_verdicts(plan, [IterationResult(1, (GroupResult(nodes=("a", "b")),))])
    assert coverage_of(plan, untouched) == Coverage(targeted=3, tested=2, excluded=1, inconclusive=0)


def again(last: GroupResult, *names: str) -> GroupResult:
    """A group whose earlier tries blamed these by name."""
    return structs.replace(last, retry=1, earlier=bad(0, *names).failed_nodes)


@pytest.mark.parametrize(
    ("last", "failed"),
    [
        pytest.param(again(good(0), "a"), [], id="it passed"),
        pytest.param(again(bad(0, "b"), "a"), ["a", "b"], id="another one is blamed"),
        pytest.param(again(bad(0, "a"), "a"), ["a"], id="it is blamed again"),
        pytest.param(again(gone(0, "b"), "a"), ["a"], id="another one went"),
        pytest.param(again(gone(0, "a"), "a"), ["a"], id="it went itself"),
        pytest.param(again(GroupResult(group=0, failure="x", attribution="None"), "a"), ["a"], id="nobody is blamed"),
    ],
)
def test_blame_by_an_earlier_try_stands_unless_the_last_one_judged_that_very_node(last: GroupResult, failed: list[str]):
    assert [node.name for node in judge((last, good(1), good(2))).failed] == failed


def test_blame_by_an_earlier_try_is_the_older_verdict():
    again_bad = structs.replace(bad(0), earlier=bad(0, "a").failed_nodes)
    assert "not attributed" in judge((again_bad, good(1), good(2))).failed[0].message
    assert "a" in judge((again(bad(0, "b"), "a"), good(1), good(2)), (good(0), good(1), good(2))).succeeded


def test_a_lent_node_that_passed_when_tried_again_is_not_blamed_for_the_try_before():
    assert "d" in judge((good(0), good(1), again(good(2), "d"))).succeeded


def test_where_the_scheduler_chose_others_for_the_last_try_the_blame_stands():
    plan = Plan(groups=(Group(),), candidates=("a", "b", "c"), unpinned=True, targeted=3)
    found = node_verdicts(plan, [IterationResult(1, (again(GroupResult(nodes=("b", "c")), "a", "b"),))])
    assert ([node.name for node in found.failed], found.succeeded) == (["a"], ("b", "c"))


def test_a_node_on_which_no_worker_of_its_group_ran_is_in_neither_list():
    for outcome in (GroupResult(group=0, nodes=("a", "a")), GroupResult(group=0, nodes=("elsewhere", "a"))):
        found = judge((outcome, good(1), good(2)))
        assert "a" in found.succeeded
        assert found.inconclusive == ("b",)
    failed = GroupResult(group=0, nodes=("a", "a"), failure="x", attribution="Group")
    assert [node.name for node in judge((failed, good(1), good(2))).failed] == ["a"]


def test_a_node_that_failed_in_an_earlier_try_stays_failed_where_the_last_try_had_no_worker_on_it():
    before = (FailedNodeFacts(name="b", reason="WorkloadFailed", message="exit 1"),)
    found = judge((GroupResult(group=0, nodes=("a", "a"), earlier=before), good(1), good(2)))
    assert [node.name for node in found.failed] == ["b"]


results = st.builds(
    lambda failed, who: (
        lambda group: (
            gone(group, GROUPS[group].nodes[-1])
            if failed and who is None
            else bad(group, *(GROUPS[group].nodes[:1] if who else ()))
            if failed
            else good(group)
        )
    ),
    st.booleans(),
    st.sampled_from([True, False, None]),
)


@given(st.lists(st.tuples(results, results, results), min_size=1, max_size=3))
def test_every_node_is_in_exactly_one_of_the_four(iterations):
    found = judge(*(tuple(make(group) for group, make in enumerate(made)) for made in iterations))
    named = [node.name for node in (*found.failed, *found.excluded)]
    assert sorted([*found.succeeded, *named, *found.inconclusive]) == ["a", "b", "c", "d", "e"]
