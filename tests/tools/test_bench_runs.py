"""The runs that are measured, in small: they do what they say, whatever it costs."""

from __future__ import annotations

import json

import pytest

from tools.bench import node_lists, node_reading, orchestration, simulated_run
from tools.bench.hook_calls import record
from tools.bench.real_run import DIRECT, PRODUCT, Costs
from tools.bench.simulated_run import Run, Stage
from tools.bench.timed_hooks import STAGES


def test_a_simulated_run_is_timed_at_every_stage_that_it_comes_to() -> None:
    """So few groups are launched in one answer and end together, so not every stage is ever seen."""
    cost = simulated_run.run(groups=50, iterations=2)
    assert cost.jobs == 100
    assert {"all of them running", "half of them done"} <= cost.stages.keys() <= STAGES.keys()
    assert cost.cpu_seconds > 0
    assert cost.status_bytes > 0
    assert all(stage.milliseconds > 0 and stage.reference > 0 for stage in cost.stages.values())


def test_nodes_are_as_large_as_real_ones_and_keep_what_planning_reads() -> None:
    node = {"metadata": {"name": "a", "labels": {"x": "y"}}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}
    large = node_lists.large_node(node)
    assert 0.98 * node_lists.NODE_BYTES < len(json.dumps(large)) <= node_lists.NODE_BYTES
    assert large["metadata"]["labels"]["x"] == "y"
    assert large["status"]["allocatable"] == {"nvidia.com/gpu": "8"}


def test_all_nodes_of_a_paged_list_are_planned() -> None:
    assert node_reading.measure(600).nodes == 600


def test_every_hook_call_of_a_run_is_kept_with_the_parent_that_it_read_live() -> None:
    calls = record(groups=2)
    assert {call.controller for call in calls} == {
        "cre-workloadruns",
        "cre-workflows",
        "cre-jobs",
        "cre-bandwidthmeasurements",
    }
    for call in calls:
        name = json.loads(call.body)["parent"]["metadata"]["name"]
        assert any(path.endswith(f"/{name}") for path in call.answers), call.controller


@pytest.mark.parametrize(("later", "met"), [(1.2, True), (1.3, False)], ids=["in time", "late"])
def test_a_run_is_held_against_what_was_created_by_hand_in_the_same_round(later: float, *, met: bool) -> None:
    costs = Costs(seconds={PRODUCT: [later * 10, later * 20, 500.0], DIRECT: [10.0, 20.0, 10.0]})
    costs.hook_cpu, costs.writes, costs.status_bytes = [3.0], [2400], [80_000]
    by_name = {row.name.rpartition(", ")[2]: row for row in orchestration.real_rows(costs)}
    assert by_name["until the verdict"].ratio == pytest.approx(later)
    assert by_name["until the verdict"].ok is met
    assert by_name["CPU of the hooks a group"].value == 15.0
    assert by_name["writes to the API a group"].value == 12.0


def test_a_workflow_sync_is_held_against_its_limit() -> None:
    stage = Stage(milliseconds=61.0, reference=50.0, ratio=1.22)
    run = Run(1, 1.0, 1.0, 1, 1, 1, {"all of them running": stage}, longest_sync=100.0)
    row, longest = orchestration.sync_rows(run)
    assert (row.ok, row.ratio) == (False, 1.22)
    assert longest.ok is None
