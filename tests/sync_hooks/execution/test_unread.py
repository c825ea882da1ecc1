"""Figures of one node's log, where nothing made one program of what ran on several."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.job import JobSpec
from sync_hooks.execution.settle import Measured, read_bandwidth, read_goodput, validate
from sync_hooks.execution.unread import lists_ranks, with_unread_nodes
from tests.support.hooks import condition
from tests.support.nodes import nodes
from tests.support.planned import planned, rendered_job
from tests.support.runs import run_spec

COMPLETE = {"conditions": [condition("Complete", reason="JobSucceeded", message="all read")]}
BANDWIDTH = {
    **COMPLETE,
    "summary": {"peakBusBandwidthGBps": 55.0, "atLargestBusBandwidthGBps": 55.0, "peakAlgBandwidthGBps": 55.0},
}
GOODPUT = {**COMPLETE, "result": 0.99}
TEXT = "nothing joined the programs of 4 nodes, and not all of their logs were read"


def spec(nodes: int = 4, **more: Any) -> JobSpec:
    train_job = {"trainer": {"numNodes": nodes}}
    return JobSpec.model_validate({"workload": {"trainJob": train_job}, "nodesApart": True, **more})


@pytest.mark.parametrize(("name", "measured"), [("bandwidth", BANDWIDTH), ("goodput", GOODPUT)])
def test_the_other_nodes_are_not_called_measured(name: str, measured: dict[str, Any]) -> None:
    found = read_bandwidth(measured, spec()) if name == "bandwidth" else read_goodput(measured)
    added = with_unread_nodes(found, spec(), name)
    assert added.figures == found.figures
    assert added.unmeasured == (f"{name}: {TEXT}",)


def test_a_figure_of_one_node_blames_no_other() -> None:
    slow = spec(thresholds={"busBandwidthGBps": "value >= 300"})
    judged = validate(slow, with_unread_nodes(read_bandwidth(BANDWIDTH, slow), slow, "bandwidth"))
    assert judged is not None
    assert (judged.status, judged.reason, judged.blames_group) == ("True", "MeasurementIncomplete", False)


@pytest.mark.parametrize(
    ("job", "measured"),
    [
        pytest.param(spec(1), read_goodput(GOODPUT), id="one node"),
        pytest.param(spec(nodesApart=None), read_goodput(GOODPUT), id="programs that are joined"),
        pytest.param(spec(), read_goodput(COMPLETE), id="nothing was measured anyway"),
        pytest.param(spec(), Measured(pending=("goodput",)), id="nothing is known yet"),
    ],
)
def test_nothing_is_added_where_nothing_is_unread(job: JobSpec, measured: Measured) -> None:
    assert with_unread_nodes(measured, job, "goodput") is measured


def test_a_log_that_lists_its_ranks_is_judged_by_them() -> None:
    assert lists_ranks({**BANDWIDTH, "ranks": 32, "severalHosts": True})
    assert lists_ranks({**BANDWIDTH, "ranks": 8, "severalHosts": False})
    assert not lists_ranks(BANDWIDTH)
    assert not lists_ranks(None)


@pytest.mark.parametrize(
    ("framework", "fields", "apart"),
    [
        pytest.param("exec", {"goodputMeasurement": {"logProfileRef": "a"}}, True, id="a command with goodput"),
        pytest.param("exec", {"bandwidthMeasurement": {"logProfileRef": "a"}}, True, id="a command with bandwidth"),
        pytest.param("exec", {}, None, id="a command of which nothing is measured"),
        pytest.param("torch", {"goodputMeasurement": {"logProfileRef": "a"}}, None, id="torchrun"),
        pytest.param("mpi", {"bandwidthMeasurement": {"logProfileRef": "a"}}, None, id="mpirun"),
    ],
)
def test_only_a_bare_command_leaves_its_nodes_apart(framework: str, fields: dict[str, Any], apart: bool | None) -> None:
    job = rendered_job(planned(run_spec(framework, **fields), nodes(2)))
    assert JobSpec.model_validate(job["spec"]).nodes_apart is apart
