"""What a Workflow makes of groups that were tried more than once: a node's last own verdict counts, of whatever try."""

from __future__ import annotations

import json
from base64 import b64decode
from gzip import decompress
from typing import Any

import pytest

from sync_hooks.report.nodes import FAILED_KEY
from tests.support.hooks import condition
from tests.sync_hooks.test_workflow import job, marked, runtime, stored_plan
from tests.sync_hooks.test_workflow_course import drained, to_the_end, true

__all__ = ["stored_plan"]  # a fixture
FAILED = condition("Failed", reason="WorkloadFailed", message="JobsFailed")


def blaming(name: str, *nodes: str) -> dict[str, Any]:
    named = [{"name": node, "reason": "WorkloadFailed", "message": f"{node} exited with 1"} for node in nodes]
    attribution = "Node" if nodes else "None"
    return job(name, workloadPhase="Failed", conditions=[FAILED], attribution=attribution, failedNodes=named)


def ended(stored_plan, *tries: dict[str, Any], **status: Any):
    """The end of a run whose first group, of n0 and n1, was tried so."""
    known = marked(stored_plan, launched="0-1", retries={"0": 1}, **status)
    return to_the_end(known, [stored_plan, runtime(stored_plan), *tries, job("run-g1-i1")])


def bad(children: list[dict[str, Any]]) -> dict[str, str]:
    [stored] = [child for child in children if child["metadata"]["name"].startswith("failed-nodes-")]
    rows = json.loads(decompress(b64decode(stored["binaryData"][FAILED_KEY])))
    return {row["name"]: row["message"] for row in rows}


@pytest.mark.parametrize(
    ("last", "status", "inconclusive"),
    [
        pytest.param((drained("run-g0-i1-t1", "n1"),), {}, 0, id="then the other node was drained"),
        pytest.param((blaming("run-g0-i1-t1"),), {}, 1, id="then it failed and nobody is to blame"),
        pytest.param((), {"lost": "0"}, 1, id="then its Job was deleted"),
    ],
)
def test_a_node_that_was_blamed_by_name_stays_bad_where_no_later_try_judged_it(stored_plan, last, status, inconclusive):
    answer, children = ended(stored_plan, blaming("run-g0-i1", "n0"), *last, **status)
    assert (true(answer), bad(children)) == ({"Failed": "IterationsFailed"}, {"n0": "n0 exited with 1"})
    assert answer.status["coverage"]["inconclusive"] == inconclusive
    [said] = [item["message"] for item in answer.status["conditions"] if item["type"] == "Failed"]
    assert "group 0: node n0 failed in an earlier try: n0 exited with 1" in said


def test_where_each_try_blames_another_node_both_are_bad(stored_plan):
    _, children = ended(stored_plan, blaming("run-g0-i1", "n0"), blaming("run-g0-i1-t1", "n1"))
    assert set(bad(children)) == {"n0", "n1"}


def test_a_node_that_failed_and_passed_when_tried_again_is_good_and_remarked(stored_plan):
    answer, _ = ended(stored_plan, blaming("run-g0-i1", "n0"), job("run-g0-i1-t1"))
    assert true(answer) == {"Succeeded": "JobCompleted"}
    assert answer.status["remarks"] == ["group 0: failed and passed only when tried again, on retry 1"]
