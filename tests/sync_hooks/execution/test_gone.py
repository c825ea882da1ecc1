"""Nodes that left while the run was under way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from sync_hooks.api.job import JobSpec
from sync_hooks.api.observed import Node, Pod
from sync_hooks.api.sync import GetObject, ListNodes, Unreadable
from sync_hooks.api.time import rfc3339
from sync_hooks.execution.gone import gone_nodes, may_have_taken, node_reads, nodes_now, taken_along
from sync_hooks.execution.snapshot import pick
from tests.support.asking import healthy
from tests.support.hooks import NOW, condition, failed_pod, pod
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


@pytest.mark.parametrize(
    "patch",
    [{}, {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {}}]}}}}],
    ids=["says nothing of pods", "says nothing of a job"],
)
def test_a_patch_that_says_nothing_of_pods_tolerates_nothing(patch: dict[str, Any]):
    job = JobSpec.model_validate({"workload": {"trainJob": {"runtimePatches": [patch]}}})
    assert gone_nodes(job, {"n1": cordoned("n1")})


GONE = gone_nodes(spec(), {"n1": cordoned("n1")})


def later(seconds: int) -> str:
    return rfc3339(NOW + timedelta(seconds=seconds))


def killed(seconds: int, since: int | None = None) -> Pod:
    """A pod on the cordoned node, killed after so many seconds; ``since`` tells when it was evicted."""
    evicted = [] if since is None else [condition("DisruptionTarget", reason="EvictionByEvictionAPI", at=later(since))]
    return failed_pod("k", "n1", 143, later(seconds), conditions=evicted)


def evicted_without_end() -> Pod:
    target = condition("DisruptionTarget", reason="EvictionByEvictionAPI", at="")
    return pod("a", node="n1", conditions=[target])


def done_and_evicted() -> Pod:
    evicted = condition("DisruptionTarget", reason="EvictionByEvictionAPI", at=later(0))
    return pod("a", node="n1", phase="Succeeded", conditions=[evicted])


def done_beside_a_sidecar() -> Pod:
    runs = {"name": "mesh", "state": {"running": {"startedAt": later(0)}}}
    over = {"name": "node", "state": {"terminated": {"exitCode": 0}}}
    return removed_from(pod("a", node="n1", containerStatuses=[over, runs]))


def removed_from(found: Pod) -> Pod:
    plain = msgspec.to_builtins(found)
    return msgspec.convert({**plain, "metadata": {**plain["metadata"], "deletionTimestamp": later(30)}}, Pod)


def removed(name: str, node: str) -> Pod:
    """A pod that runs and is being deleted, by whomever."""
    return removed_from(pod(name, node=node))


@pytest.mark.parametrize(
    ("pods", "taken"),
    [
        pytest.param((), True, id="its pod is gone"),
        pytest.param((failed_pod("a", "n1", exit_code=143),), True, id="its pod was killed"),
        pytest.param((failed_pod("a", "n1", exit_code=1),), False, id="its pod failed by itself"),
        pytest.param((failed_pod("a", "n1", 137, why="OOMKilled"),), False, id="its pod was killed for its memory"),
        pytest.param((failed_pod("a", "n1", 137, reason="Evicted"),), False, id="its kubelet evicted its pod"),
        pytest.param((pod("a", node="n1", phase="Failed", reason="Evicted"),), False, id="evicted without a container"),
        pytest.param((failed_pod("a", "n1", 137, reason="Terminated"),), True, id="its node was shut down"),
        pytest.param((killed(1, since=0),), True, id="its pod was evicted through the API"),
        pytest.param((pod("a", node="n1", phase="Succeeded"),), False, id="its pod ended well"),
        pytest.param((done_and_evicted(), failed_pod("b", "n2", at=later(1))), False, id="it had ended well before"),
        pytest.param((done_beside_a_sidecar(),), False, id="its workload ended well, only a sidecar ran on"),
        pytest.param((failed_pod("a", "n2", exit_code=1),), None, id="its pod is gone and another one failed"),
        pytest.param((failed_pod("a", "n2", role="launcher"),), None, id="its pod is gone and the launcher failed"),
        pytest.param((pod("a", node="n2", phase="Failed", reason="Evicted"), killed(1)), None, id="nobody knows when"),
        pytest.param((failed_pod("a", "n2"), evicted_without_end()), None, id="nobody knows when it was evicted"),
        pytest.param((pod("a", node="n1"), pod("b", node="n2")), False, id="nothing failed and its pod goes on"),
        pytest.param((removed("a", "n1"), removed("b", "n2")), True, id="nothing failed and its pod is being deleted"),
        pytest.param((removed("a", "n1"), failed_pod("b", "n2")), False, id="its pod was let run until another failed"),
        pytest.param((killed(1, since=0), failed_pod("b", "n2", at=later(1))), True, id="it was evicted just before"),
        pytest.param((failed_pod("a", "n2"), killed(1)), False, id="another pod had failed before its pod was killed"),
        pytest.param((failed_pod("a", "n2", at=later(9)), killed(1)), True, id="its pod was killed before"),
        pytest.param(
            (failed_pod("a", "n2"), killed(30, since=-2)), True, id="its pod was evicted before and took long"
        ),
        pytest.param((failed_pod("a", "n2", role="launcher"), killed(1)), False, id="the launcher had failed before"),
        pytest.param((failed_pod("a", "n2", at=later(5)), killed(1), killed(9)), True, id="one of its pods was before"),
    ],
)
def test_a_cordon_explains_a_failure_unless_the_node_failed_by_itself(pods, taken):
    assert taken_along(GONE, pods) == (GONE if taken else ())
    assert may_have_taken(GONE, pods) == (GONE if taken is None else ())


def test_of_a_small_group_every_node_is_read_live_and_of_a_large_one_all_are_listed():
    assert node_reads(("n1", "n2")) == (GetObject("v1", "Node", "n1"), GetObject("v1", "Node", "n2"))
    [listed] = node_reads([f"n{number}" for number in range(65)])
    assert isinstance(listed, ListNodes)


def test_a_node_of_a_large_group_that_went_is_told_wherever_it_is_in_the_group():
    names = [f"n{number:03}" for number in range(200)]
    nodes = tuple(cordoned(name) if name == "n180" else node(name) for name in names if name != "n199")
    known = nodes_now(names, {node_reads(names)[0]: nodes})
    assert [(item.name, item.reason) for item in gone_nodes(spec(), known)] == [
        ("n180", "Drained"),
        ("n199", "NodeLost"),
    ]


def test_nodes_that_cannot_be_read_are_not_taken_for_lost():
    for names in (["n1"], [f"n{number}" for number in range(65)]):
        assert nodes_now(names, dict.fromkeys(node_reads(names), Unreadable("timeout"))) == {}


def test_nodes_are_found_in_a_snapshot_by_name():
    nodes = tuple(node(f"n{number}") for number in range(9))
    assert pick(nodes, ["n8", "n0", "nx", ""]) == {"": None, "n0": nodes[0], "n8": nodes[8], "nx": None}
    assert pick((), ["n0"]) == {"n0": None}


def test_a_healthy_node_in_tests_is_healthy():
    assert condition("Ready")["status"] == healthy("n1").status["conditions"][0]["status"]
