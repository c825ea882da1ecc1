"""Whom a Job blames that ran to its end and was found wanting: its group for what it did, nobody for the unknown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.hooks import condition, failed_pod, pod
from tests.sync_hooks.test_job import (
    ATTEMPT,
    FRESH,
    JOBSET,
    ended,
    jobset,
    measured,
    parent,
    succeeded,
    summary,
    sync,
    train_job,
)

FAST = {"thresholds": {"busBandwidthGBps": "value >= 300"}}
DOUBTED = {**summary(20), "doubts": ["the table is not whole"]}
EMPTY = {"conditions": [condition("Complete", reason="NoDataCollected")]}


def blamed(spec: dict[str, Any], status: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    answer = sync(succeeded(**spec), [train_job(), measured(**status)], {})
    nodes = answer.status.get("failedNodes", ())
    return answer.status.get("attribution", ""), [(node["name"], node["reason"]) for node in nodes]


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        pytest.param(FAST, summary(20), id="too slow"),
        pytest.param({}, {**summary(480), "wrongCount": 12}, id="wrong values"),
        pytest.param({"fabricExpected": True}, {**summary(480), "socketFallback": True}, id="over sockets"),
    ],
)
def test_what_a_group_did_is_held_against_all_of_its_nodes(spec: dict[str, Any], status: dict[str, Any]):
    assert blamed(spec, status) == ("Group", [("n1", "ThresholdViolation"), ("n2", "ThresholdViolation")])


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        pytest.param({"thresholds": {"busBandwidthGbps": "value >= 300"}}, summary(480), id="a misspelt threshold"),
        pytest.param(FAST, DOUBTED, id="slow by a measurement that is not whole"),
        pytest.param(FAST, EMPTY, id="nothing measured"),
    ],
)
def test_what_is_not_known_is_held_against_nobody(spec: dict[str, Any], status: dict[str, Any]):
    assert blamed(spec, status) == ("None", [])


def test_a_group_that_met_everything_is_not_blamed():
    assert blamed(FAST, summary(480)) == ("", [])


# Workloads that failed


def test_a_group_that_the_scheduler_placed_is_blamed_where_it_ran():
    placed = parent({**ended("Failed", "JobTimedOut"), "nodes": ["n8", "n7"]})
    del placed["metadata"]["annotations"]
    answer = sync(placed, [train_job()], {JOBSET: jobset(), FRESH: (pod("p", node="n7"),)})
    assert [node["name"] for node in answer.status["failedNodes"]] == ["n7", "n8"]


def test_what_the_pods_tell_is_added_to_the_failure_and_to_nothing_else():
    failed = parent(ended("Failed", "WorkloadFailed"))
    before = {item["type"]: item["message"] for item in failed["status"]["conditions"]}
    answer = sync(failed, [train_job()], {JOBSET: jobset(), FRESH: (failed_pod(f"{ATTEMPT}-node-0-0", "n1"),)})
    after = {item["type"]: item["message"] for item in answer.status["conditions"]}
    assert after.pop("Failed").startswith(f"{before.pop('Failed')}; pod {ATTEMPT}-node-0-0 on node n1: ")
    assert after == before
