"""Outliers among groups: what stands apart is flagged without a threshold, and nothing is where nothing does."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.distribution import MOST_OUTLIER_NODES, MOST_OUTLIERS, results_of
from sync_hooks.report.figures import FEWEST_GROUPS, Values, values_of
from sync_hooks.report.iteration import GroupResult, IterationResult
from sync_hooks.report.outliers import LEAST_SHARE, MOST_DEVIATIONS, SCALE, outliers

EVEN = [480.1, 479.8, 480.4, 479.9, 480.0, 480.2]


def numbered(*values: float) -> list[tuple[float, int]]:
    return [(value, group) for group, value in enumerate(values)]


def told(values: list[tuple[float, int]]) -> list[tuple[float, int]]:
    return outliers([values_of(values)], len(values))


def defined(values: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Tell the outliers as they are defined, over all values at once."""
    if len({group for _, group in values}) < FEWEST_GROUPS:
        return []
    middle = median(value for value, _ in values)
    deviation = SCALE * median(abs(value - middle) for value, _ in values)
    bound = max(MOST_DEVIATIONS * deviation, LEAST_SHARE * abs(middle))
    furthest: dict[int, float] = {}
    for value, group in sorted(values, key=lambda item: (-abs(item[0] - middle), item)):
        if abs(value - middle) > bound:
            furthest.setdefault(group, value)
    return [(value, group) for group, value in furthest.items()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(numbered(*EVEN), [], id="all alike"),
        pytest.param(numbered(*EVEN, 312.0), [(312.0, 6)], id="one slow"),
        pytest.param(numbered(*EVEN, 700.0), [(700.0, 6)], id="one too good to be true"),
        pytest.param(numbered(*EVEN, 312.0, 100.0), [(100.0, 7), (312.0, 6)], id="the furthest first"),
        pytest.param(numbered(*EVEN, 460.0), [], id="less than 5 % off is no outlier however alike the others are"),
        pytest.param(numbered(*[5.0] * 6, 4.0), [(4.0, 6)], id="the others exactly alike"),
        pytest.param(numbered(300, 350, 400, 450, 500, 550), [], id="all different, none apart"),
        pytest.param(numbered(10, 10, 10, 10, 1, 1, 1), [(1, 4), (1, 5), (1, 6)], id="almost half of them"),
        pytest.param(numbered(10, 10, 10, 1), [], id="too few groups to tell"),
        pytest.param([(10.0, 0)] * 9 + [(1.0, 1)], [], id="too few groups, though measured often"),
        pytest.param(numbered(0, 0, 0, 0, 0, 1), [(1, 5)], id="a median of 0"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_what_stands_apart_is_an_outlier(values: list[tuple[float, int]], expected: list[tuple[float, int]]) -> None:
    assert told(values) == expected


def test_a_group_that_was_bad_in_one_iteration_is_flagged_once_with_that_value() -> None:
    twice = [*numbered(*EVEN), *numbered(*EVEN[:-1], 200.0), *numbered(*EVEN[:-1], 190.0)]
    assert told(twice) == [(190.0, 5)]


VALUES = st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 30)), max_size=60)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_groups_changes_nothing(values: list[tuple[float, int]], random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert told(shuffled) == told(values)


@given(st.lists(st.floats(0, 1e6), max_size=60))
def test_never_are_more_than_half_of_the_groups_outliers(values: list[float]) -> None:
    assert 2 * len(told(numbered(*values))) <= len(values)


LEVELS = st.lists(st.tuples(st.sampled_from([0, 1, 7.5, 100, 100.1, 140, 199, 200, 5000]), st.integers(0, 12)))


@given(st.lists(VALUES | LEVELS, max_size=4), st.integers(1, 12))
def test_values_in_parts_have_the_outliers_that_they_have_together(
    parts: list[list[tuple[float, int]]], most: int
) -> None:
    known: list[Values] = [values_of(part) for part in parts if part]
    assert outliers(known, most) == defined([pair for part in parts for pair in part])[:most]


def iteration(values: list[float]) -> IterationResult:
    groups = tuple(GroupResult(group=group, figures={"busBandwidthGBps": value}) for group, value in enumerate(values))
    return IterationResult(1, groups)


def test_results_name_the_nodes_of_outliers() -> None:
    plan = Plan(groups=tuple(Group(nodes=(f"n{group}a", f"n{group}b")) for group in range(7)), targeted=14)
    found = results_of(plan, [iteration([*EVEN, 312.0])])
    assert found is not None
    assert found.model_dump(by_alias=True, exclude_none=True)["busBandwidthGBps"]["outliers"] == [
        {"group": 6, "value": 312.0, "nodes": ["n6a", "n6b"]}
    ]


def test_results_without_outliers_have_no_such_field() -> None:
    plan = Plan(groups=tuple(Group(nodes=(f"n{group}",)) for group in range(6)), targeted=6)
    found = results_of(plan, [iteration(EVEN)])
    assert found is not None
    assert "outliers" not in found.model_dump(by_alias=True, exclude_none=True)["busBandwidthGBps"]


def test_a_status_names_few_outliers_and_few_of_their_nodes() -> None:
    many = tuple(f"n{index:03}" for index in range(100))
    plan = Plan(groups=tuple(Group(nodes=many) for _ in range(60)), targeted=100)
    found = results_of(plan, [iteration([480.0] * 40 + [100.0 + group for group in range(20)])])
    assert found is not None
    assert found.bus_bandwidth_g_bps is not None
    flagged = found.bus_bandwidth_g_bps.outliers or []
    assert [item.group for item in flagged] == list(range(40, 40 + MOST_OUTLIERS))
    assert {len(item.nodes) for item in flagged} == {MOST_OUTLIER_NODES}
