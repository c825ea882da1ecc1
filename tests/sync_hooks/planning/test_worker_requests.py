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


def efa(plan: Any) -> set[str]:
    [job] = plan.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    [container] = job["template"]["spec"]["template"]["spec"]["containers"]
    return {container["resources"][part].get("vpc.amazonaws.com/efa") for part in ("limits", "requests")}


def test_the_users_own_number_of_interfaces_wins_over_the_tables():
    plan = planned(
        run_spec(**limits(**{"vpc.amazonaws.com_efa": 16})), nodes(2, resources={"vpc.amazonaws.com/efa": "16"})
    )
    assert efa(plan) == {"16"}


@pytest.mark.parametrize(("own", "count"), [({"mlnxPerNode": 4}, "4"), ({}, "8")], ids=["the run's", "the table's"])
def test_interfaces_that_only_the_run_names_are_requested(own, count):
    hosts = nodes(3, platform="onprem", resources={"rdma/ib": "8"})
    plan = planned(run_spec(nicResourceName="rdma/ib", **own), [*hosts, node("odd", platform="onprem")])
    [job] = plan.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    [container] = job["template"]["spec"]["template"]["spec"]["containers"]
    assert {container["resources"][part]["rdma/ib"] for part in ("limits", "requests")} == {count}
    assert dict(plan.exclusions) == {"odd": "lacks rdma/ib, which 3 of 4 nodes offer"}
    assert not plan.warnings
    assert plan.job["spec"]["fabricExpected"] is True


@pytest.mark.parametrize(
    ("fields", "platform", "said"),
    [
        pytest.param(
            {"nicResourceName": "rdma/ib"},
            "aws",
            "nicResourceName rdma/ib is ignored here: aws h100 requests vpc.amazonaws.com/efa",
            id="a name where the platform has another",
        ),
        pytest.param(
            {"nicResourceName": "rdma/ib", "mlnxPerNode": 0},
            "onprem",
            "nicResourceName rdma/ib is ignored here: onprem h100 requests no interfaces",
            id="a name that the run opts out of",
        ),
        pytest.param(
            {"mlnxPerNode": 4},
            "onprem",
            "mlnxPerNode 4 is ignored here: no resource of interfaces is known; nicResourceName names it",
            id="a number of nothing",
        ),
    ],
)
def test_a_word_about_interfaces_that_changes_nothing_is_told(fields, platform, said):
    assert said in planned(run_spec(**fields), nodes(2, platform=platform)).warnings
