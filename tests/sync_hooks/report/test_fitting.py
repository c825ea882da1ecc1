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
from sync_hooks.planning.assemble import LARGEST_OBJECT_BYTES
from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.figures import FIGURES
from sync_hooks.report.iteration import RESULT_KEY, GroupResult, IterationResult, read_result, result_payload
from sync_hooks.report.nodes import FAILED_KEY, SUCCEEDED_KEY, node_verdicts
from tests.support.hooks import live, manifest

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
    data = result_config_map(RUN, IterationResult(1, tuple(groups)))["binaryData"]
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
