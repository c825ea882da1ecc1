"""Objects that cannot be understood."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sync_hooks.execution.refusal import refused
from tests.support.hooks import NOW, STAMP, condition

FIGURES = {"figures": {"busBandwidthGBps": 480.5}, "unknown": 1}
WAITING = {"waiting": {"reason": "Draining", "message": "m", "since": "2026-01-01T11:00:00Z"}}
GONE_ON = {"settled": True, "drained": True}


def after(kind: str, **status: Any) -> dict[str, Any]:
    return refused(kind, status, "Expected `object`", NOW)


def true(status: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["type"], item["reason"]) for item in status["conditions"] if item["status"] == "True"]


ENDED = [condition("Succeeded"), condition("ValidationFailed", reason="ThresholdViolated")]
RUN = {"conditions": ENDED, "verdict": "Failed", "coverage": {"tested": 1}, "succeededNodesRef": {"name": "x"}}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param("WorkloadRun", RUN, id="a run"),
        pytest.param("Workflow", {"conditions": [condition("Failed")], "progress": {"groups": 2}}, id="a Workflow"),
        pytest.param(
            "BandwidthMeasurement", {"conditions": [condition("Complete")], "summary": {}}, id="a measurement"
        ),
        pytest.param(
            "Job", {"conditions": ENDED, "attribution": "Group", **GONE_ON, **FIGURES}, id="a Job that is settled"
        ),
    ],
)
def test_what_has_ended_stays_as_it_is(kind, status):
    assert after(kind, **status) == status


@pytest.mark.parametrize("kind", ["WorkloadRun", "Workflow", "Job", "BandwidthMeasurement"])
def test_what_is_under_way_fails_with_the_reason_and_keeps_what_is_known(kind):
    found = after(kind, conditions=[condition("InProgress")], **FIGURES, **WAITING)
    assert true(found) == [("Failed", "InvalidObject")]
    assert FIGURES.items() <= found.items()
    assert "waiting" not in found
    assert refused(kind, found, "Expected `array`", NOW) == found


def test_a_run_that_fails_so_has_a_verdict():
    found = after("WorkloadRun")
    assert found["verdict"] == "Failed"
    assert found["verdictReasons"] == ["InvalidObject: the object cannot be understood: Expected `object`"]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        pytest.param({}, [("Failed", "InvalidObject")], id="new"),
        pytest.param({"conditions": [condition("Failed")]}, [("Failed", "Because")], id="failed and not settled"),
        pytest.param({"conditions": [condition("Succeeded")]}, [("Failed", "InvalidObject")], id="not judged yet"),
        pytest.param({"conditions": ENDED, "settled": True}, true({"conditions": ENDED}), id="judged, not drained"),
    ],
)
def test_a_job_lets_its_workflow_go_on_and_never_passes_without_having_been_judged(status, why):
    found = after("Job", **status)
    assert true(found) == why
    assert (found["settled"], found["drained"], found["attribution"]) == (True, True, "None")


@pytest.mark.parametrize("status", [None, "odd", []])
def test_a_status_that_is_none_is_taken_for_empty(status):
    assert true(refused("Workflow", status, "x", NOW)) == [("Failed", "InvalidObject")]


@pytest.mark.parametrize("kind", ["WorkloadRun", "Workflow"])
def test_it_says_when_it_failed_once_so_that_what_is_kept_for_a_while_goes(kind):
    found = after(kind, conditions=[condition("InProgress")])
    later = refused(kind, found, "Expected `object`", NOW + timedelta(hours=1))
    assert found["completionTime"] == later["completionTime"] == STAMP
