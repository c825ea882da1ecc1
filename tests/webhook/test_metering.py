"""What the hooks' face counts: answers, reads, bytes and verdicts, and the figures of measurements as they pass by."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from prometheus_client import REGISTRY

from sync_hooks.api.observed import LiveObject, Log
from sync_hooks.api.sync import (
    Event,
    GetLogProfile,
    GetObject,
    ListEvents,
    ListKinds,
    ListNodes,
    ListPods,
    Read,
    ReadLog,
    Unreadable,
)
from tests.support.hooks import live, manifest
from webhook.answering import HookResponse
from webhook.measured import ENDED_SECONDS, MOST_MEASUREMENTS, MOST_SIZES, RUNNING_SECONDS, Measured, MeasurementFacts
from webhook.metering import counted, kind_of, note_answer, note_status
from webhook.metrics import MEASURED, exposition

COMPLETE = [{"type": "Complete", "status": "True", "reason": "JobSucceeded", "message": ""}]
SIZES = [
    {"sizeBytes": 1024, "algBandwidthGBps": 1.5, "busBandwidthGBps": 2.5, "samples": 1},
    {"sizeBytes": 8589934592, "algBandwidthGBps": 255.9, "busBandwidthGBps": 480, "samples": 1},
]
GOODPUT = {"result": 0.93, "avgStepTimeSec": 1.2, "lostWorkTimeSec": 0, "trainingTimeSec": 820}


class Clock:
    """Seconds that pass when told to."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def measurement(kind: str = "BandwidthMeasurement", name: str = "m", **spec: Any) -> LiveObject:
    wanted = {"jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": "job"}, "testType": "all_reduce", **spec}
    return live(manifest(kind, name, spec=wanted, metadata={"labels": {"cre.nvidia.com/workflow": "flow"}}))


def facts(**status: Any) -> MeasurementFacts:
    return msgspec.convert(status, MeasurementFacts)


def series(measured: Measured) -> dict[tuple[str, str], float]:
    """All series: by metric and, as far as there are, message sizes."""
    samples = [sample for family in measured.collect() for sample in family.samples]
    return {(item.name, item.labels.get("message_size_bytes", "")): item.value for item in samples}


def test_a_running_bandwidth_measurement_shows_every_message_size() -> None:
    measured = Measured(Clock())
    assert measured.take(measurement(), facts(results=SIZES))
    assert series(measured) == {
        ("cre_nccl_algbw_gbps", "1024"): 1.5,
        ("cre_nccl_busbw_gbps", "1024"): 2.5,
        ("cre_nccl_algbw_gbps", "8589934592"): 255.9,
        ("cre_nccl_busbw_gbps", "8589934592"): 480,
    }


def test_series_bear_the_names_of_their_objects() -> None:
    measured = Measured(Clock())
    measured.take(measurement(), facts(results=SIZES[:1]))
    [sample, _] = [sample for family in measured.collect() for sample in family.samples]
    assert sample.labels == {
        "namespace": measurement().metadata.namespace,
        "measurement": "m",
        "job": "job",
        "workflow": "flow",
        "nccl_test": "all_reduce",
        "message_size_bytes": "1024",
    }


def test_a_completed_bandwidth_measurement_is_no_longer_shown() -> None:
    measured = Measured(Clock())
    measured.take(measurement(), facts(results=SIZES))
    measured.take(measurement(), facts(results=SIZES, conditions=COMPLETE))
    assert series(measured) == {}


def test_goodput_shows_what_was_measured_and_nothing_else() -> None:
    measured = Measured(Clock())
    measured.take(measurement("GoodputMeasurement"), facts(**GOODPUT))
    assert series(measured) == {
        ("cre_goodput_ratio", ""): 0.93,
        ("cre_goodput_avg_step_time_seconds", ""): 1.2,
        ("cre_goodput_lost_work_time_seconds", ""): 0,
        ("cre_goodput_training_time_seconds", ""): 820,
    }


def test_of_goodput_the_ratio_stays_for_a_while_after_the_end() -> None:
    clock = Clock()
    measured = Measured(clock)
    measured.take(measurement("GoodputMeasurement"), facts(**GOODPUT, conditions=COMPLETE))
    assert series(measured) == {("cre_goodput_ratio", ""): 0.93}
    clock.seconds = ENDED_SECONDS
    assert series(measured) == {}


def test_a_measurement_that_another_replica_answers_is_forgotten() -> None:
    clock = Clock()
    measured = Measured(clock)
    measured.take(measurement(), facts(results=SIZES))
    clock.seconds = RUNNING_SECONDS - 1
    assert len(series(measured)) == 4
    clock.seconds = RUNNING_SECONDS
    assert series(measured) == {}


def test_a_measurement_that_is_deleted_is_no_longer_shown() -> None:
    measured = Measured(Clock())
    measured.take(measurement("GoodputMeasurement"), facts(**GOODPUT))
    gone = msgspec.structs.replace(
        measurement("GoodputMeasurement").metadata, deletion_timestamp="2026-01-01T00:00:00Z"
    )
    measured.take(msgspec.structs.replace(measurement("GoodputMeasurement"), metadata=gone), facts(**GOODPUT))
    assert series(measured) == {}


def test_the_number_of_measurements_is_bounded_and_those_that_are_shown_stay() -> None:
    measured = Measured(Clock())
    taken = [
        measured.take(measurement("GoodputMeasurement", f"m{index}"), facts(result=0.5))
        for index in range(MOST_MEASUREMENTS + 2)
    ]
    assert taken == [True] * MOST_MEASUREMENTS + [False] * 2
    assert measured.take(measurement("GoodputMeasurement", "m0"), facts(result=0.6))
    [ratio] = [family for family in measured.collect() if family.name == "cre_goodput_ratio"]
    assert {sample.labels["measurement"] for sample in ratio.samples} == {f"m{i}" for i in range(MOST_MEASUREMENTS)}


def test_the_number_of_sizes_is_bounded_and_the_largest_are_shown() -> None:
    sizes = [{"sizeBytes": size, "busBandwidthGBps": 1, "algBandwidthGBps": 1} for size in range(1, 200)]
    measured = Measured(Clock())
    measured.take(measurement(), facts(results=sizes))
    shown = {int(size) for _, size in series(measured)}
    assert shown == set(range(200 - MOST_SIZES, 200))


@pytest.mark.parametrize("spec", [None, "text", {"jobRef": "text"}, {"jobRef": None, "testType": 7}])
def test_a_spec_of_another_shape_has_no_names_and_no_error(spec: Any) -> None:
    odd = msgspec.structs.replace(measurement(), spec=spec)
    assert Measured(Clock()).take(odd, facts(results=SIZES))


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0


def response(kind: str, status: dict[str, Any], *events: Event, code: int = 200) -> HookResponse:
    body = msgspec.json.encode({"status": status, "children": []})
    return HookResponse(code, body, parent=live(manifest(kind, "noted")), events=events)


def test_figures_of_an_answer_are_exposed_until_the_measurement_is_complete() -> None:
    note_status(response("GoodputMeasurement", GOODPUT))
    assert b"cre_goodput_avg_step_time_seconds{" in exposition()
    note_status(response("GoodputMeasurement", {**GOODPUT, "conditions": COMPLETE}))
    assert b"cre_goodput_avg_step_time_seconds{" not in exposition()
    assert b'measurement="noted"' in exposition()


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param(HookResponse(429, b"no JSON"), id="no answer"),
        pytest.param(response("BandwidthMeasurement", {"results": "text"}), id="a status of another shape"),
        pytest.param(response("BandwidthMeasurement", {}), id="an empty status"),
        pytest.param(response("Job", {"results": SIZES}), id="another kind"),
    ],
)
def test_other_answers_show_nothing(answered: HookResponse) -> None:
    before = series(MEASURED)
    note_status(answered)
    assert series(MEASURED) == before


def test_a_verdict_counts_once_with_the_transition_that_brings_it() -> None:
    before = value("workloadrun_verdicts_total", verdict="Incomplete")
    note_status(response("WorkloadRun", {"verdict": "Incomplete"}, Event("Normal", "Succeeded", "", "x")))
    note_status(response("WorkloadRun", {"verdict": "Incomplete"}))
    note_status(response("WorkloadRun", {}, Event("Normal", "InProgress", "", "x")))
    assert value("workloadrun_verdicts_total", verdict="Incomplete") == before + 1


def test_nobody_can_make_up_a_label() -> None:
    before = value("workloadrun_sync_answers_total", controller="other", code="404")
    note_answer("../../etc/passwd", 404)
    note_status(response("WorkloadRun", {"verdict": "Splendid"}, Event("Normal", "Succeeded", "", "x")))
    assert value("workloadrun_sync_answers_total", controller="other", code="404") == before + 1
    assert b"passwd" not in exposition()
    assert b"Splendid" not in exposition()


def test_answers_are_timed_by_controller() -> None:
    before = value("workloadrun_sync_seconds_count", controller="cre-jobs")
    note_answer("cre-jobs", 200, 0.25)
    note_answer("cre-jobs", 401)
    assert value("workloadrun_sync_seconds_count", controller="cre-jobs") == before + 1


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (GetObject("cre.nvidia.com/v1alpha1", "Job", "a", "b"), "Job"),
        (GetObject("example.com/v1", "Anything", "a", "b"), "other"),
        (GetLogProfile("a"), "LogProfile"),
        (ListNodes(), "Node"),
        (ListPods("a", "b"), "Pod"),
        (ReadLog("a", "b", "c"), "Log"),
        (ListKinds("v1"), "APIResource"),
        (ListEvents("a", "SyncError", "b"), "Event"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reads_are_told_apart_by_kind(read: Read, kind: str) -> None:
    assert kind_of(read) == kind


def test_reads_are_counted_by_what_was_found_and_answered_as_they_were() -> None:
    log = ReadLog("a", "b", "c")
    found: dict[Read, Any] = {ListNodes(): (), GetLogProfile("a"): None, log: Log(content=b"12345")}
    found[ListKinds("v1")] = Unreadable("x")
    outcomes = [("Node", "ok"), ("LogProfile", "absent"), ("Log", "ok"), ("APIResource", "failed")]
    before = [value("workloadrun_reads_total", kind=kind, outcome=outcome) for kind, outcome in outcomes]
    bytes_before = value("workloadrun_log_bytes_total")
    read = counted(found.__getitem__)
    assert [read(wanted) for wanted in found] == list(found.values())
    after = [value("workloadrun_reads_total", kind=kind, outcome=outcome) for kind, outcome in outcomes]
    assert [late - early for late, early in zip(after, before, strict=True)] == [1, 1, 1, 1]
    assert value("workloadrun_log_bytes_total") - bytes_before == 5
