"""What measurements came to, and what a Job's requirements make of it: nothing is assumed."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.job import JobSpec
from sync_hooks.execution.planned import planned
from sync_hooks.execution.settle import Validation, read_bandwidth, read_goodput, together, validate
from sync_hooks.measurements.ranks import Planned
from tests.support.hooks import condition

COMPLETE = {"conditions": [condition("Complete", reason="JobSucceeded", message="all read")]}
PEAK = 480.0
TABLE = {
    **COMPLETE,
    "summary": {"peakBusBandwidthGBps": PEAK, "atLargestBusBandwidthGBps": 1, "peakAlgBandwidthGBps": 256},
}
SOCKETS = {**TABLE, "socketFallback": True, "severalHosts": True}
ONE_NODE = {**TABLE, "ranks": 8, "severalHosts": False}


def spec(nodes: int = 4, jobs: tuple[str, ...] = ("node", "launcher"), **more: Any) -> JobSpec:
    patched = {"template": {"spec": {"replicatedJobs": [{"name": name} for name in jobs]}}}
    patches = [{"manager": "cre.nvidia.com/controller", "trainingRuntimeSpec": patched}]
    train_job = {"trainer": {"numNodes": nodes}, "runtimePatches": patches}
    return JobSpec.model_validate({"workload": {"trainJob": train_job}, "ranks": nodes * 8, **more})


def judged(status: dict[str, Any], job: JobSpec) -> tuple[Validation | None, tuple[str, ...]]:
    measured = read_bandwidth(status, job)
    return validate(job, measured), measured.unmeasured


def test_a_whole_table_of_all_ranks_is_measured():
    assert judged({**TABLE, "ranks": 32, "severalHosts": True}, spec()) == (None, ())


# Ranks


def test_ranks_of_one_node_under_one_mpirun_fail_validation_and_blame_nobody():
    validation, unmeasured = judged(ONE_NODE, spec(thresholds={"busBandwidthGBps": "value >= 300"}))
    assert validation is not None
    assert (validation.status, validation.reason, validation.blames_group) == ("True", "RanksApart", False)
    assert "8 ranks on one node; 32 on 4 nodes" in validation.message
    assert unmeasured == ()
    slow, _ = judged(ONE_NODE, spec(thresholds={"busBandwidthGBps": "value >= 500"}))
    assert slow is not None
    assert (slow.reason, slow.blames_group) == ("RanksApart", False)


def test_ranks_of_one_node_without_mpirun_are_not_called_measured():
    validation, unmeasured = judged(ONE_NODE, spec(jobs=("node",)))
    assert validation is None
    assert "nothing between nodes was measured" in str(unmeasured)


@pytest.mark.parametrize(
    "train_job",
    [
        {},
        {"runtimePatches": None},
        {"runtimePatches": [{"manager": "x"}]},
        {"runtimePatches": ["x"]},
        {"trainer": {"numNodes": "4"}},
    ],
    ids=str,
)
def test_a_train_job_of_any_shape_is_read(train_job: dict[str, Any]):
    assert planned(JobSpec.model_validate({"workload": {"trainJob": train_job}})) == Planned()


# Doubts


def test_a_doubt_leaves_the_figures_and_makes_the_run_less_than_passed():
    doubted = {**TABLE, "doubts": ["the table is not whole"]}
    validation, unmeasured = judged(doubted, spec(thresholds={"busBandwidthGBps": "value >= 300"}))
    assert validation is not None
    assert validation.status == "False"
    assert unmeasured == ("bandwidth: the table is not whole",)


def test_a_figure_that_may_not_be_the_whole_one_fails_closed_and_blames_nobody():
    doubted = {**TABLE, "doubts": ["the table is not whole"]}
    validation, _ = judged(doubted, spec(thresholds={"busBandwidthGBps": "value >= 500"}))
    assert validation is not None
    assert (validation.reason, validation.blames_group) == ("MeasurementIncomplete", False)
    assert "measured 480.0000 does not satisfy" in validation.message


def test_a_doubt_of_one_measurement_says_nothing_of_the_other():
    job = spec(thresholds={"goodputRatio": "value >= 0.9"})
    both = together(
        read_bandwidth({**TABLE, "doubts": ["the table is not whole"]}, job),
        read_goodput({**COMPLETE, "result": 0.5}),
    )
    found = validate(job, both)
    assert found is not None
    assert (found.reason, found.blames_group) == ("ThresholdViolated", True)


# Sockets


def test_sockets_fail_where_there_is_a_fabric():
    validation, unmeasured = judged(SOCKETS, spec(fabricExpected=True))
    assert validation is not None
    assert (validation.reason, unmeasured) == ("SocketFallback", ())


def test_sockets_where_nobody_knows_of_a_fabric_are_not_called_measured():
    validation, unmeasured = judged(SOCKETS, spec())
    assert validation is None
    assert "it is not known whether there is a fabric" in str(unmeasured)


def test_sockets_where_the_run_says_that_there_is_no_fabric_are_remarked():
    job = spec(fabricExpected=False)
    measured = read_bandwidth(SOCKETS, job)
    assert (validate(job, measured), measured.unmeasured) == (None, ())
    assert measured.remarks == ("NCCL used TCP sockets between nodes; the run says that there is no fabric",)


@pytest.mark.parametrize("expected", [True, False, None])
def test_sockets_mean_nothing_in_a_group_of_one_node(expected: bool | None):
    job = spec(1, fabricExpected=expected)
    measured = read_bandwidth(SOCKETS, job)
    assert (validate(job, measured), measured.unmeasured, measured.remarks) == (None, (), ())


# Goodput


def test_a_goodput_of_nothing_is_a_measured_value():
    measured = read_goodput({**COMPLETE, "result": 0.0, "avgStepTimeSec": 1.5})
    assert (measured.figures, measured.unmeasured) == ({"goodputRatio": 0.0, "avgStepTimeSec": 1.5}, ())
    found = validate(spec(thresholds={"goodputRatio": "value >= 0.9"}), measured)
    assert found is not None
    assert found.reason == "ThresholdViolated"


def test_a_goodput_that_is_missing_beside_other_figures_is_not_measured():
    measured = read_goodput({**COMPLETE, "avgStepTimeSec": 1.5})
    assert measured.figures == {"avgStepTimeSec": 1.5}
    assert measured.unmeasured == (
        "goodput: no ratio, for there was no time in which training could have run; all read",
    )


def test_no_goodput_at_all_is_said_with_the_measurements_own_reason():
    assert read_goodput(COMPLETE).unmeasured == ("goodput: JobSucceeded: all read",)
