"""Where planning gives up for what the cluster cannot do, and how small a plan stays where it can."""

from __future__ import annotations

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, Unplannable, encode
from tests.support.nodes import node, nodes
from tests.support.planned import DEMO, planned, rendered_job
from tests.support.runs import run_spec


@pytest.mark.parametrize(
    ("absent", "product", "reason"),
    [
        (("resource.nvidia.com/v1beta1", "ComputeDomain"), "NVIDIA-GB300", "FabricResourceMissing"),
        (("resource.k8s.io/v1", "ResourceClaimTemplate"), "NVIDIA-GB300", "FabricResourceMissing"),
        (("resource.k8s.io/v1", "ResourceClaimTemplate"), "NVIDIA-H100", None),
    ],
)
def test_a_device_api_that_is_not_served_is_named(absent, product, reason):
    result = build(DEMO, run_spec(), nodes(2, product=product), absent_kinds=[absent])
    assert getattr(result, "reason", None) == reason
    assert reason is None or absent[1] in result.message


def test_a_group_too_large_to_be_stored_is_refused_with_the_size_that_is_possible():
    cluster = [node(f"ip-10-0-{number // 250}-{number % 250}.us-west-2.compute.internal") for number in range(2500)]
    result = build(DEMO, run_spec("mpi", numNodes=2500), cluster)
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("GroupTooLarge", False)
    possible = int(result.message.rpartition("about ")[2].split()[0])
    assert isinstance(build(DEMO, run_spec("mpi", numNodes=possible), cluster[:possible]), Plan)


LONG_TEXTS = {
    "env": {"env": [{"name": f"A{number}", "value": "x" * 900} for number in range(130)]},
    "initContainers": {"initContainers": [{"name": "i", "image": "i", "args": ["x" * 119_000]}]},
}


@pytest.mark.parametrize("large", LONG_TEXTS)
@pytest.mark.parametrize("changes", [{}, {"numNodes": 1}, {"orchestration": {"placement": "Unpinned"}}], ids=str)
def test_a_run_too_large_for_a_job_of_one_node_is_told_what_makes_it_large(large, changes):
    spec = run_spec("mpi", **LONG_TEXTS[large], **changes, checkpoint={"storageSize": "5Gi"})
    result = build(DEMO, spec, nodes(4))
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("ObjectTooLarge", False)
    assert "however few nodes its group has" in result.message
    assert f"make spec.{large} (" in result.message
    assert "nodes a group" not in result.message


def test_a_runtime_too_large_to_be_stored_is_told_what_makes_it_large():
    result = build(DEMO, run_spec("mpi", **LONG_TEXTS["env"]), nodes(4))
    assert isinstance(result, Unplannable)
    assert result.message.startswith("TrainingRuntime demo-runtime would take ")
    assert "make spec.env (" in result.message


def test_a_configuration_too_large_to_be_stored_is_refused():
    result = build(DEMO, run_spec(config={"inline": {"data": "x" * 300_000}}), nodes(2))
    assert isinstance(result, Unplannable)
    assert result.reason == "ObjectTooLarge"
    assert "demo-config" in result.message


def test_more_groups_than_one_request_can_carry_are_refused_with_the_number_that_is_possible():
    large = {"env": [{"name": "LONG", "value": "x" * 30_000}]}
    cluster = nodes(5000)
    result = build(DEMO, run_spec("mpi", numNodes=1, **large), cluster)
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("TooManyGroups", False)
    possible = int(result.message.rpartition("about ")[2].split()[0])
    assert isinstance(build(DEMO, run_spec("mpi", numNodes=1, **large), cluster[:possible]), Plan)
    assert isinstance(build(DEMO, run_spec("mpi", numNodes=1), cluster), Plan)


@pytest.mark.parametrize(("iterations", "count"), [(1000, 2500), (1000, 5000), (200, 5000)])
def test_more_results_than_one_request_can_carry_are_refused_with_what_is_possible(iterations, count):
    def run(iterations, count):
        spec = run_spec("mpi", numNodes=2, orchestration={"repeatCount": iterations})
        return build(DEMO, spec, nodes(count))

    result = run(iterations, count)
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("TooManyGroups", False)
    fewer, groups = (int(part.split()[0]) for part in result.message.split("about ")[1:])
    assert 0 < fewer < iterations
    assert isinstance(run(fewer, count), Plan)
    assert 0 < 2 * groups < count
    assert isinstance(run(iterations, 2 * groups), Plan)


def test_a_hundred_iterations_of_as_many_groups_as_five_thousand_nodes_make_are_planned():
    plan = build(DEMO, run_spec("mpi", numNodes=2, orchestration={"repeatCount": 100}), nodes(5000))
    assert isinstance(plan, Plan)


def test_the_plan_of_five_thousand_nodes_stays_small_and_names_every_job():
    plan = planned(run_spec("mpi"), nodes(5000))
    jobs = [rendered_job(plan, group) for group in range(2500)]
    assert len({job["metadata"]["name"] for job in jobs}) == 2500
    assert len(encode(plan)) < 100_000
