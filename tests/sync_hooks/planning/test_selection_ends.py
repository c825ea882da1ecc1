"""What planning says of nodes where none is left, and of a scale that changes nothing."""

from __future__ import annotations

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import node, nodes
from tests.support.planned import DEMO, planned
from tests.support.runs import run_spec


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"cordoned": True}, "cordoned", id="cordoned"),
        pytest.param({"ready": "False"}, "NotReady", id="not ready"),
        pytest.param({"gpus": "0"}, "GPU", id="without GPUs"),
    ],
)
def test_where_no_node_is_left_every_one_is_named_with_its_reason(fields, said):
    result = build(DEMO, run_spec(), nodes(3, **fields))
    assert isinstance(result, Unplannable)
    assert result.wait  # they may come back
    assert [excluded.name for excluded in result.exclusions] == ["gpu-000", "gpu-001", "gpu-002"]
    assert all(said in excluded.reason for excluded in result.exclusions)
    assert said in result.message


def test_a_node_without_labels_is_not_taken_for_another_architecture():
    plan = planned(run_spec(), [*nodes(2), node("odd", product=None)])
    assert [name for name, _ in plan.exclusions] == ["odd"]
    assert "label" in dict(plan.exclusions)["odd"]


def test_full_scale_covers_every_node_in_groups_of_the_size_that_was_asked_for():
    full = planned(run_spec(orchestration={"testScale": "full-scale"}), nodes(5))
    assert full.groups == planned(run_spec(), nodes(5)).groups
    assert {name for group in full.groups for name in group.nodes} == {f"gpu-{number:03d}" for number in range(5)}
