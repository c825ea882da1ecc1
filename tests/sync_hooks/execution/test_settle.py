"""What measurements came to, and what a Job's requirements make of it: nothing is assumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sync_hooks.api.job import JobSpec
from sync_hooks.execution.planned import planned
from sync_hooks.execution.settle import Measured, Validation, read_bandwidth, read_goodput, together, validate
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


# Notes


def test_what_the_measurement_noted_is_remarked_and_changes_no_verdict():
    noted = {**TABLE, "notes": ["the test did not check the results of 14 rows"]}
    measured = read_bandwidth(noted, spec())
    assert (validate(spec(), measured), measured.unmeasured, measured.doubtful) == (None, (), frozenset())
    assert measured.remarks == ("bandwidth: the test did not check the results of 14 rows",)


def test_a_note_that_is_a_doubt_already_is_told_once():
    text = "3 rows of the table could not be read"
    measured = read_bandwidth({**TABLE, "notes": [text], "doubts": [text]}, spec())
    assert (measured.unmeasured, measured.remarks) == ((f"bandwidth: {text}",), ())


def test_fewer_ranks_are_remarked_where_they_may_be_so_by_choice_and_doubted_where_not():
    note = "the log lists 25 ranks, 32 were to run"
    even = {**TABLE, "ranks": 16, "rankSpread": {"hosts": 4, "fewest": 4, "most": 4}}
    assert read_bandwidth({**even, "notes": [note]}, spec()).remarks == (f"bandwidth: {note}",)
    odd = {**TABLE, "ranks": 25, "rankSpread": {"hosts": 4, "fewest": 1, "most": 8}, "notes": [note]}
    measured = read_bandwidth(odd, spec())
    assert measured.remarks == ()
    assert "one has 1 of them, another 8" in str(measured.unmeasured)


# Causes


def test_a_threshold_without_a_figure_says_first_why_nothing_was_measured():
    missing = {"conditions": [condition("Complete", reason="LogsUnavailable", message="LogProfile x does not exist")]}
    both = {"busBandwidthGBps": "value >= 300", "algBandwidthGBps": "value >= 1"}
    validation, _ = judged(missing, spec(thresholds=both))
    assert validation is not None
    assert validation.reason == "MeasurementTimeout"
    assert validation.message == (
        "bandwidth: LogsUnavailable: LogProfile x does not exist; "
        "threshold algBandwidthGBps: nothing was measured to hold against 'value >= 1'; "
        "threshold busBandwidthGBps: nothing was measured to hold against 'value >= 300'"
    )


@pytest.mark.parametrize(
    ("name", "read"), [("bandwidth", lambda raw: read_bandwidth(raw, spec())), ("goodput", read_goodput)]
)
def test_a_measurement_that_is_not_final_says_what_holds_it_up(name: str, read: Callable[[Any], Measured]):
    waits = {"conditions": [condition("Measuring", "False", "FinalReadPending", "the API server answers 500")]}
    assert read(waits) == Measured(
        pending=(name,), unmeasured=(f"{name}: FinalReadPending: the API server answers 500",)
    )
    assert read({"conditions": [condition("Measuring", "True", "JobRunning", "9 rows")]}).unmeasured == ()
    assert read(None) == Measured(pending=(name,))


def test_the_cause_of_one_measurement_is_not_told_of_the_other():
    job = spec(thresholds={"goodputRatio": "value >= 0.9"})
    found = validate(job, together(read_bandwidth(COMPLETE, job), read_goodput(COMPLETE)))
    assert found is not None
    assert found.message.startswith("goodput: JobSucceeded: all read; threshold goodputRatio")


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


def test_a_network_that_nobody_named_is_not_taken_for_the_fabric():
    job = spec(fabricExpected=True, thresholds={"busBandwidthGBps": "value >= 300"})
    validation, unmeasured = judged(TABLE, job)
    assert validation is not None
    assert (validation.status, len(unmeasured)) == ("False", 1)
    assert unmeasured[0].startswith("bandwidth: NetworkUnknown: ")
    assert "NCCL_DEBUG=INFO" in unmeasured[0]
    assert judged({**TABLE, "socketFallback": False}, job)[1] == ()


def test_a_figure_below_its_threshold_blames_the_group_over_whatever_network_it_was():
    validation, _ = judged(TABLE, spec(fabricExpected=True, thresholds={"busBandwidthGBps": "value >= 500"}))
    assert validation is not None
    assert (validation.reason, validation.blames_group) == ("ThresholdViolated", True)


@pytest.mark.parametrize(
    ("status", "job"),
    [
        pytest.param(TABLE, spec(1, fabricExpected=True), id="on one node"),
        pytest.param(TABLE, spec(fabricExpected=False), id="without a fabric, by the run's own word"),
        pytest.param(TABLE, spec(), id="where nobody knows of a fabric"),
        pytest.param(TABLE, spec(fabricExpected=True, nodesApart=True), id="of programs that nothing joined"),
    ],
)
def test_a_network_that_nobody_named_is_not_asked_for_where_it_tells_nothing(status: dict[str, Any], job: JobSpec):
    assert judged(status, job) == (None, ())


def test_where_nothing_was_measured_or_nothing_between_nodes_the_network_is_not_asked_for():
    nothing = {"conditions": [condition("Complete", reason="NoDataCollected", message="the log holds no table")]}
    for status in (nothing, ONE_NODE):
        assert "NetworkUnknown" not in str(judged(status, spec(fabricExpected=True)))


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


def test_a_goodput_in_doubt_is_not_whole_and_blames_nobody():
    measured = read_goodput({**COMPLETE, "result": 0.5, "doubts": ["lines are missing"]})
    assert measured.unmeasured == ("goodput: lines are missing",)
    found = validate(spec(thresholds={"goodputRatio": "value >= 0.9"}), measured)
    assert found is not None
    assert (found.status, found.reason, found.blames_group) == ("True", "MeasurementIncomplete", False)


def test_what_a_goodput_leaves_out_is_remarked_of_a_workload_that_succeeded():
    assert read_goodput({**COMPLETE, "result": 0.5, "notes": ["left out"]}).remarks == ("goodput: left out",)


def test_no_goodput_at_all_is_said_with_the_measurements_own_reason():
    assert read_goodput(COMPLETE).unmeasured == ("goodput: JobSucceeded: all read",)
