"""What no node has enough of: named before anything is made, where a pod would be pending for ever."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import EFA, node, nodes
from tests.support.planned import DEMO, planned
from tests.support.runs import run_spec

WHOLE = {**EFA, "cpu": "190", "memory": "2000Gi"}


def limits(**named: Any) -> dict[str, Any]:
    return {"resources": {"limits": {name.replace("_", "/"): amount for name, amount in named.items()}}}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param(limits(rdma_ib=8), "0 rdma/ib, 8 needed", id="extended resource"),
        pytest.param(limits(cpu="100000"), "190 cpu, 100000 needed", id="cpu"),
        pytest.param(limits(memory="900Ti"), "2000Gi memory, 921600Gi needed", id="memory"),
        pytest.param({"resources": {"requests": {"cpu": "190500m"}}}, "190 cpu, 190.5 needed", id="request alone"),
        pytest.param(
            {"initContainers": [{"name": "i", "image": "x", **limits(cpu="200")}]}, "200 needed", id="init container"
        ),
    ],
)
@pytest.mark.parametrize("framework", ["torch", "mpi", "exec"])
def test_what_no_node_has_fails_the_run_by_name(framework, fields, said):
    result = build(DEMO, run_spec(framework, **fields), nodes(2, resources=WHOLE))
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("PartitionError", False)
    assert said in result.message
    assert [one.name for one in result.exclusions] == ["gpu-000", "gpu-001"]


def test_a_node_that_has_less_than_a_worker_requests_is_left_out_by_name():
    small = node("small", resources={**WHOLE, "memory": "500Gi"})
    plan = planned(run_spec(**limits(memory="1Ti")), [*nodes(2, resources=WHOLE), small])
    assert dict(plan.exclusions) == {"small": "500Gi memory, 1024Gi needed"}


def test_of_a_node_that_does_not_tell_its_memory_nothing_is_held_against_it():
    assert not planned(run_spec(**limits(memory="900Ti", cpu="1000")), nodes(2)).exclusions


def test_what_a_device_plugin_may_bring_back_is_waited_for():
    broken = nodes(2, resources={**EFA, "rdma/ib": "0"}, capacity={"rdma/ib": "8"})
    result = build(DEMO, run_spec(**limits(rdma_ib=8)), broken)
    assert isinstance(result, Unplannable)
    assert result.wait


def test_resources_of_the_trainer_count_in_the_place_of_the_runtimes():
    trainer = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8, "cpu": 200}}}
    override = {"jobTemplate": {"spec": {"workload": {"trainJob": {"trainer": trainer}}}}}
    result = build(DEMO, run_spec("torch", overrides=[override]), nodes(2, resources=WHOLE))
    assert isinstance(result, Unplannable)
    assert "190 cpu, 200 needed" in result.message
