"""However many groups fail, and whatever they say, result and lists can be stored, with every node in them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from random import Random

import pytest

from sync_hooks.api.request import ConfigMapChild, FailedNodeFacts
from sync_hooks.execution.children import node_config_maps, result_config_map
from sync_hooks.planning.plan import Group, Plan
from sync_hooks.planning.room import (
    LARGEST_OBJECT_BYTES,
    MOST_SYNC_BYTES,
    least_result,
    result_room,
    stored_bytes,
)
from sync_hooks.report.figures import FIGURES
from sync_hooks.report.iteration import RESULT_KEY, GroupResult, IterationResult, read_result, result_payload
from sync_hooks.report.nodes import FAILED_KEY, SUCCEEDED_KEY, node_verdicts
from tests.support.hooks import live, manifest
from tests.support.planned import DEMO, planned
from tests.support.runs import run_spec

RUN = live(manifest("Workflow", "run"))
CHANCE = Random(1)
NAMES = [f"ip-10-{n >> 8}-{n & 255}-{CHANCE.randrange(255)}.us-west-2.compute.internal" for n in range(10_000)]
PLAN = Plan(groups=tuple(Group(nodes=(name,)) for name in NAMES), targeted=len(NAMES))


def words(length: int) -> str:
    return "".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=length))


def clock(hour: int) -> str:
    return f"2026-01-01T{hour}:{CHANCE.randrange(60):02}:{CHANCE.randrange(60):02}Z"


def bad(number: int, said: int) -> GroupResult:
    text = f"pod run-g{number}-i1-w0-node-0-0-{words(5)} on node {NAMES[number]}: exited with 1: {words(said)}"
    blamed = (FailedNodeFacts(NAMES[number], "WorkloadFailed", text),)
    return GroupResult(number, 1, f"JobsFailed: {text}", "WorkloadFailed", attribution="Node", failed_nodes=blamed,
                       earlier=blamed, nodes=(NAMES[number],), started=clock(12), ended=clock(13))  # fmt: skip


def good(number: int) -> GroupResult:
    figures = {name: round(400 + CHANCE.random() * 50, 6) for name in FIGURES}
    remarks = (f"over sockets {words(200)}",)
    return GroupResult(number, nodes=(NAMES[number],), figures=figures, remarks=remarks, started=clock(12))


def stored(groups: Sequence[GroupResult]) -> IterationResult:
    """Store a result, and read it back."""
    data = result_config_map(planned(), RUN, IterationResult(1, tuple(groups)))["binaryData"]
    assert len(data[RESULT_KEY]) <= LARGEST_OBJECT_BYTES
    found = read_result(ConfigMapChild(binary_data=data))
    assert found is not None
    return found


@pytest.mark.parametrize("said", [0, 500], ids=["they say little", "they say much"])
def test_of_ten_thousand_groups_that_fail_every_node_is_in_the_stored_list_with_its_reason(said: int):
    verdicts = node_verdicts(PLAN, [stored([bad(number, said) for number in range(10_000)])])
    [listed] = node_config_maps(RUN, verdicts)
    assert len(listed["binaryData"][FAILED_KEY]) <= LARGEST_OBJECT_BYTES
    rows = json.loads(gzip.decompress(base64.b64decode(listed["binaryData"][FAILED_KEY])))
    assert [row["name"] for row in rows] == sorted(NAMES)
    assert all(row["reason"] == "WorkloadFailed" for row in rows)


def test_as_many_groups_as_can_be_planned_pass_with_all_their_figures():
    result = stored([good(number) for number in range(6_700)])
    assert all(set(group.figures) == set(FIGURES) and group.remarks and not group.failure for group in result.groups)
    assert abs(min(group.figures["goodputRatio"] for group in result.groups) - 400) < 0.2
    [listed] = node_config_maps(RUN, node_verdicts(PLAN, [result]))
    assert len(listed["binaryData"][SUCCEEDED_KEY]) <= LARGEST_OBJECT_BYTES


def test_a_result_that_is_cut_still_says_when_its_iteration_began_and_ended():
    groups = [bad(number, 0) for number in range(10_000)]
    result = stored(groups)
    assert min(group.started for group in result.groups if group.started) == min(group.started for group in groups)
    assert max(group.ended for group in result.groups) == max(group.ended for group in groups)


def test_what_there_is_room_for_is_written_as_it_is():
    groups = (bad(0, 500), good(1))
    assert stored(groups).groups == groups
    assert result_payload(IterationResult(1, groups)) == result_payload(IterationResult(1, groups))


def test_words_that_take_no_room_packed_are_cut_where_they_would_not_be_unpacked():
    groups = [GroupResult(number, failure="x" * 9_000, failure_reason="Late") for number in range(2_500)]
    assert {len(group.failure) for group in stored(groups).groups} == {100}


def worst(number: int, nodes: Sequence[str]) -> GroupResult:
    """Fail in every way at once, after a try that failed, with every node blamed and every figure another one."""
    seen = tuple(CHANCE.sample(nodes, len(nodes)))
    reason = CHANCE.choice(("WorkloadFailed", "HardwareFailureDetected", "ThresholdViolation"))
    blamed = tuple(FailedNodeFacts(name, reason, words(200)) for name in seen)
    figures = {name: CHANCE.uniform(0.0001, 9999) for name in FIGURES}
    return GroupResult(number, CHANCE.randrange(10), words(400), reason, CHANCE.random() < 0.5, words(400),
                       CHANCE.choice(("ThresholdViolated", "WrongResults")), CHANCE.choice(("Node", "Group")), blamed,
                       blamed, seen, figures, (words(60), words(60)), (words(60), words(60)), clock(12),
                       clock(13))  # fmt: skip


@pytest.mark.parametrize(("groups", "size"), [(1, 1), (1, 1000), (3, 500), (50, 2), (300, 8), (700, 2), (1500, 1)])
@pytest.mark.parametrize("named", ["gpu-{:04}", None], ids=["short names", "long names"])
def test_no_result_takes_more_than_planning_reckons_with_when_it_tells_as_little_as_it_can(
    groups: int, size: int, named: str | None
):
    names = [named.format(number) if named else NAMES[number] for number in range(groups * size)]
    members = [tuple(names[group * size : group * size + size]) for group in range(groups)]
    plan = Plan(groups=tuple(Group(nodes=nodes) for nodes in members), targeted=len(names))
    result = IterationResult(1, tuple(worst(group, nodes) for group, nodes in enumerate(members)))
    assert len(result_payload(result, 0)) <= least_result(plan, stored_bytes(plan))


def test_of_many_iterations_each_result_says_less_so_that_one_request_carries_all():
    plan = planned(run_spec(orchestration={"repeatCount": 1000}))
    room = result_room(plan, DEMO)
    groups = tuple(bad(number, 9_000) for number in range(len(plan.groups)))
    told = [result_payload(IterationResult(1, groups * 5), most) for most in (room, LARGEST_OBJECT_BYTES)]
    assert len(told[0]) <= room < len(told[1])
    assert 2 * 1000 * room <= MOST_SYNC_BYTES
