"""What a Job's expression sees of a node, and what it makes of it."""

from __future__ import annotations

import msgspec
import pytest

from sync_hooks.api.observed import Node
from sync_hooks.execution.job_health import failed_nodes
from tests.support.hooks import STAMP, condition

NODE = msgspec.convert(
    {
        "metadata": {"name": "n1", "labels": {"rack": "r1"}, "annotations": {"note": "spare"}},
        "spec": {"unschedulable": True, "taints": [{"key": "gpu", "value": "bad", "effect": "NoSchedule"}]},
        "status": {
            "conditions": [condition("Ready", "False", "KubeletStopped", "gone")],
            "allocatable": {"nvidia.com/gpu": "7"},
            "capacity": {"nvidia.com/gpu": "8"},
        },
    },
    Node,
)
BARE = msgspec.convert({"metadata": {"name": "n2"}, "spec": {}, "status": {}}, Node)


@pytest.mark.parametrize(
    "expression",
    [
        'node.metadata.name == "n1"',
        'node.metadata.labels["rack"] == "r1"',
        'node.metadata.annotations["note"] == "spare"',
        "node.spec.unschedulable",
        'node.spec.taints.exists(t, t.key == "gpu" && t.value == "bad" && t.effect == "NoSchedule")',
        'node.status.conditions.exists(c, c.type == "Ready" && c.status == "False" && c.reason == "KubeletStopped")',
        f'node.status.conditions.exists(c, c.message == "gone" && c.lastTransitionTime == "{STAMP}")',
        'node.status.allocatable["nvidia.com/gpu"] != node.status.capacity["nvidia.com/gpu"]',
    ],
)
def test_an_expression_sees_what_the_api_has_of_a_node(expression: str):
    assert failed_nodes(expression, [NODE]) == ("n1",)


@pytest.mark.parametrize(
    "expression",
    [
        '"rack" in node.metadata.labels || "note" in node.metadata.annotations',
        "node.spec.unschedulable || size(node.spec.taints) > 0",
        'size(node.status.conditions) > 0 || "nvidia.com/gpu" in node.status.allocatable',
        'size(node.status.capacity) > 0 || node.metadata.name == ""',
    ],
)
def test_what_a_node_has_not_is_empty_and_no_error(expression: str):
    assert failed_nodes(expression, [BARE, None]) == ()


def test_nodes_that_failed_are_named_in_order():
    assert failed_nodes('node.metadata.name != ""', [BARE, NODE]) == ("n1", "n2")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("node.", "the node health expression does not compile: ", id="no expression"),
        pytest.param("node.metadata.name", "node n1: the node health expression gives neither", id="no truth value"),
        pytest.param("node.nothing", "node n1: the node health expression cannot be evaluated: ", id="no such field"),
    ],
)
def test_an_expression_that_says_nothing_is_named_with_the_node_in_one_line(expression: str, problem: str):
    found = failed_nodes(expression, [NODE])
    assert isinstance(found, str)
    assert found.startswith(problem)
    assert "\n" not in found
