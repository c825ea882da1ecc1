"""The verdict is Passed only where everything was run, measured and good."""

from __future__ import annotations

import pytest

from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.report.verdict import judge
from tests.support.hooks import condition

ALL = {"targeted": 4, "tested": 4, "excluded": 0, "inconclusive": 0}
GOOD = {"conditions": [condition("Succeeded", reason="JobCompleted")], "coverage": ALL}


def verdict(**changes):
    return judge(WorkflowStatus.model_validate({**GOOD, **changes}))


def test_a_run_under_way_has_no_verdict():
    assert verdict(conditions=[condition("InProgress")]) is None


def test_everything_good_is_passed():
    found = verdict()
    assert (found.verdict, found.reasons) == ("Passed", ())


@pytest.mark.parametrize(
    ("changes", "expected", "reason"),
    [
        pytest.param({"coverage": None}, "Incomplete", "it is not known which nodes were tested", id="no coverage"),
        pytest.param(
            {"coverage": {**ALL, "tested": 3, "excluded": 1}, "excludedNodes": [{"name": "n4", "reason": "cordoned"}]},
            "Incomplete",
            "node n4 excluded: cordoned",
            id="a node was left out",
        ),
        pytest.param(
            {"coverage": {**ALL, "tested": 3, "inconclusive": 1}},
            "Incomplete",
            "1 of 4 targeted nodes have no verdict of their own",
            id="a node without verdict",
        ),
        pytest.param({"unmeasured": ["group 0: goodput"]}, "Incomplete", "group 0: goodput", id="not measured"),
        pytest.param(
            {"conditions": [condition("Failed", reason="IterationsFailed", message="group 1")]},
            "Failed",
            "IterationsFailed: group 1",
            id="failed",
        ),
        pytest.param(
            {
                "conditions": [
                    condition("Succeeded"),
                    condition("ValidationFailed", reason="ThresholdViolated", message="too slow"),
                ],
                "unmeasured": ["group 0: goodput"],
            },
            "Failed",
            "ThresholdViolated: too slow",
            id="succeeded but violated",
        ),
    ],
)
def test_anything_less_is_not_passed(changes, expected, reason):
    found = verdict(**changes)
    assert found.verdict == expected
    assert found.reasons[0] == reason


def test_remarks_stand_among_the_reasons_and_change_no_verdict():
    remark = "group 0: failed and passed only when tried again, on retry 1"
    passed = verdict(remarks=[remark])
    assert (passed.verdict, passed.reasons) == ("Passed", (remark,))
    less = verdict(remarks=[remark], unmeasured=["group 1: goodput"])
    assert (less.verdict, less.reasons) == ("Incomplete", ("group 1: goodput", remark))
