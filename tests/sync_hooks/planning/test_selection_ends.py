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


@pytest.mark.parametrize(
    ("fields", "gpus"),
    [
        pytest.param({}, 8, id="what the nodes offer"),
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": 4}}}, 4, id="what the resources name"),
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": 4}}, "gpusPerNode": 2}, 2, id="what the run says"),
        pytest.param({"resources": {"limits": {"nvidia.com/gpu": "0"}}}, 8, id="GPUs that are claimed as devices"),
        pytest.param({"resources": {"limits": {"memory": "1Gi"}}}, 8, id="resources without GPUs"),
    ],
)
def test_as_many_ranks_start_on_a_node_as_its_pod_has_gpus(fields, gpus):
    plan = planned(run_spec("mpi", **fields), nodes(2))
    trainer = plan.job["spec"]["workload"]["trainJob"]["trainer"]
    assert (plan.gpus_per_node, trainer["numProcPerNode"]) == (gpus, gpus)
    assert trainer["args"][:2] == ["-N", str(gpus)]
    assert plan.runtime["spec"]["mlPolicy"]["mpi"]["numProcPerNode"] == gpus


@pytest.mark.parametrize(
    ("fields", "kept", "told"),
    [
        pytest.param({}, 2, "8 GPUs, the run uses 4: the rest would not be tested", id="by nobody's word"),
        pytest.param({"gpusPerNode": 4}, 3, "1 of 3 nodes have more (n2): the rest is not tested", id="by the run's"),
    ],
)
def test_of_gpus_that_are_claimed_as_devices_none_is_called_tested_that_was_left_out(fields, kept: int, told: str):
    claimed = {
        "platform": "nscale",
        "product": "NVIDIA-GB300",
        "gpus": None,
        "resources": {"nscale.com/rdmashare": "1"},
    }
    counts = ("4", "4", "8")
    gpus = [node(f"n{n}", labels={"nvidia.com/gpu.count": count}, **claimed) for n, count in enumerate(counts)]
    plan = planned(run_spec(numNodes=1, **fields), gpus)
    assert plan.gpus_per_node == 4
    assert [name for group in plan.groups for name in group.nodes] == ["n0", "n1", "n2"][:kept]
    [text] = [text for text in (*plan.warnings, *dict(plan.exclusions).values()) if "rest" in text]
    assert told in text


def racks(*sizes):
    places = [(rack, number) for rack, size in enumerate(sizes) for number in range(size)]
    return [
        node(f"gpu-{rack}{number}", platform="onprem", labels={"nvidia.com/gpu.clique": f"rack-{rack}"})
        for rack, number in places
    ]


MEASURED = {"orchestration": {"testScale": "intra-rack"}, "bandwidthMeasurement": {"logProfileRef": "nccl-bandwidth"}}


def test_a_node_alone_in_its_rack_is_not_tested_for_bandwidth_between_nodes():
    plan = planned(run_spec("mpi", numNodes=2, **MEASURED), racks(3, 1, 2))
    assert [group.domains for group in plan.groups] == [("rack-0",), ("rack-2",)]
    assert plan.exclusions == (("gpu-10", "alone in nvidia.com/gpu.clique=rack-1: no node to measure against"),)
    assert plan.targeted == 6


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({**MEASURED, "numNodes": 1}, id="one node is what was asked for"),
        pytest.param({"orchestration": MEASURED["orchestration"], "numNodes": 2}, id="no bandwidth is measured"),
    ],
)
def test_it_is_tested_where_nothing_between_nodes_is_asked_for(fields):
    plan = planned(run_spec("mpi", **fields), racks(3, 1))
    assert [len(group.nodes) for group in plan.groups] == [3, 1]
    assert plan.exclusions == ()


def test_where_every_node_is_alone_in_its_rack_there_is_nothing_to_measure():
    result = build(DEMO, run_spec("mpi", numNodes=2, **MEASURED), racks(1, 1))
    assert isinstance(result, Unplannable)
    assert "no two nodes have the same label nvidia.com/gpu.clique: " in result.message
    assert [excluded.name for excluded in result.exclusions] == ["gpu-00", "gpu-10"]
