import pytest

from sync_hooks.api.override import When
from sync_hooks.overrides.expression import ExpressionProblem
from sync_hooks.overrides.when import Detected, matches, summary

DETECTED = Detected("aws", "gb200", "topology", 3)


@pytest.mark.parametrize(
    ("when", "matching"),
    [
        (None, True),
        ({}, True),
        ({"platform": {"equals": "aws"}}, True),
        ({"platform": {"equals": "gcp"}}, False),
        ({"platform": {"in": ["gcp", "aws"]}}, True),
        ({"platform": {"notIn": ["aws"]}}, False),
        ({"platform": {"notIn": ["gcp"]}}, True),
        ({"platform": {"equals": "", "in": [], "notIn": []}}, True),
        ({"platform": {"equals": "aws", "notIn": ["aws"]}}, False),
        ({"platform": {"equals": "aws"}, "gpuArchitecture": {"equals": "h100"}}, False),
        ({"gpuArchitecture": {"in": ["gb200", "gb300"]}}, True),
        ({"workloadKind": "TrainJob"}, True),
        ({"topology": {"mode": "topology"}}, True),
        ({"topology": {"mode": "simple"}}, False),
        ({"topology": {"domainCount": {"greaterThan": 2, "lessThan": 4}}}, True),
        ({"topology": {"domainCount": {"greaterThan": 3}}}, False),
        ({"topology": {"domainCount": {"equals": 3}}}, True),
        ({"topology": {"domainCount": {"lessThan": 3}}}, False),
        ({"expression": "platform == 'aws' && domainCount >= 2"}, True),
        ({"expression": "gpuArchitecture.startsWith('h')"}, False),
        ({"platform": {"equals": "gcp"}, "expression": "this is never read"}, False),
    ],
)
def test_every_given_part_must_hold(when, matching):
    parsed = None if when is None else When.model_validate(when)
    assert matches(parsed, DETECTED) is matching


@pytest.mark.parametrize(
    "expression", ["platform ==", "platform", "unknown == 'x'", "1 / 0 == 1", "domainCount == 'x'"]
)
def test_an_expression_without_a_bool_is_a_problem(expression):
    problem = matches(When(expression=expression), DETECTED)
    assert isinstance(problem, ExpressionProblem)
    assert "\n" not in problem.message


@pytest.mark.parametrize(
    ("when", "text"),
    [
        (None, "<always>"),
        ({}, "<always>"),
        ({"platform": {"equals": "aws"}, "gpuArchitecture": {"equals": "h100"}}, "h100, aws"),
        ({"gpuArchitecture": {"in": ["a", "b"], "notIn": ["c"]}}, "in [a,b], notIn [c]"),
        (
            {"workloadKind": "TrainJob", "topology": {"mode": "simple", "domainCount": {"lessThan": 2}}},
            "TrainJob, simple, domainCount < 2",
        ),
        (
            {"expression": "platform == 'aws' || platform == 'gcp' || true"},
            "platform == 'aws' || platform == 'gcp' |...",
        ),
    ],
)
def test_conditions_are_told_in_short(when, text):
    assert summary(None if when is None else When.model_validate(when)) == text
