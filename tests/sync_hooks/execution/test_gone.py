"""Nodes that left while the run was under way."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.job import JobSpec
from sync_hooks.api.observed import Node
from sync_hooks.execution.gone import gone_nodes, taken_along
from sync_hooks.execution.snapshot import pick
from tests.support.asking import healthy
from tests.support.hooks import condition, failed_pod, pod
from tests.sync_hooks.test_job_endings import bad_node
from tests.sync_hooks.test_workflow import node


def spec(*tolerations: dict[str, Any]) -> JobSpec:
    pods = {"template": {"spec": {"template": {"spec": {"tolerations": list(tolerations)}}}}}
    patch = {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", **pods}]}}}}
    return JobSpec.model_validate({"workload": {"trainJob": {"runtimePatches": [patch]}}})


def cordoned(name: str) -> Node:
    good = node(name)
    return type(good)(metadata=good.metadata, spec=type(good.spec)(unschedulable=True), status=good.status)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param(node("n1"), None, id="fit"),
        pytest.param(cordoned("n1"), "Drained", id="cordoned"),
        pytest.param(bad_node("n1"), "NodeNotReady", id="not ready"),
        pytest.param(None, "NodeLost", id="deleted"),
    ],
)
def test_a_node_that_went_is_named_with_the_reason(found, reason):
    gone = gone_nodes(spec(), {"n1": found})
    assert [item.reason for item in gone] == ([reason] if reason else [])


def test_a_run_that_is_about_cordoned_nodes_does_not_mind_a_cordon():
    wanted = spec({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})
    assert gone_nodes(wanted, {"n1": cordoned("n1")}) == ()
    assert gone_nodes(spec({"operator": "Exists"}), {"n1": cordoned("n1")})  # MPI pods tolerate everything


GONE = gone_nodes(spec(), {"n1": cordoned("n1")})


@pytest.mark.parametrize(
    ("pods", "taken"),
    [
        pytest.param((), True, id="its pod is gone"),
        pytest.param((failed_pod("a", "n1", exit_code=143),), True, id="its pod was killed"),
        pytest.param((failed_pod("a", "n1", exit_code=1),), False, id="its pod failed by itself"),
        pytest.param((pod("a", node="n1", phase="Succeeded"),), False, id="its pod ended well"),
        pytest.param((failed_pod("a", "n2", exit_code=1),), True, id="another pod failed because of it"),
    ],
)
def test_a_cordon_explains_a_failure_unless_the_node_failed_by_itself(pods, taken):
    assert bool(taken_along(GONE, pods)) is taken


def test_nodes_are_found_in_a_snapshot_by_name():
    nodes = tuple(node(f"n{number}") for number in range(9))
    assert pick(nodes, ["n8", "n0", "nx", ""]) == {"": None, "n0": nodes[0], "n8": nodes[8], "nx": None}
    assert pick((), ["n0"]) == {"n0": None}


def test_a_healthy_node_in_tests_is_healthy():
    assert condition("Ready")["status"] == healthy("n1").status["conditions"][0]["status"]
