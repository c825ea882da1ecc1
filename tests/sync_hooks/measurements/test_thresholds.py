"""Thresholds: what is met, what is violated, and that nothing which cannot be evaluated is ever met."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_hooks.api.limits import THRESHOLD_KEYS
from sync_hooks.measurements.thresholds import FIGURES, Compiled, compile_threshold, evaluate, only_answer, unknown_key

MEASURED = {"busBandwidthGBps": 480.123456, "goodputRatio": 0.91}


def test_the_keys_are_those_that_the_schema_allows() -> None:
    assert tuple(FIGURES) == THRESHOLD_KEYS


@pytest.mark.parametrize(
    "expression",
    [
        "value >= 300",
        "value >= 300.0",
        "300 <= value",
        "value > 300u",
        "value >= 300 && value < 500",
        "value >= 300 // GB/s",
        "value >= 300 ? true : false",
        "value in [480.123456, 1.0]",
        "value == 480.123456",
        "!(value < 300)",
    ],
)
def test_an_expression_that_holds_is_met(expression: str) -> None:
    assert evaluate({"busBandwidthGBps": expression}, MEASURED) == ()


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("value >= ", id="syntax"),
        pytest.param("valu >= 300", id="another variable"),
        pytest.param('value >= "x"', id="text against a number"),
        pytest.param("value", id="no condition"),
        pytest.param("1", id="a number"),
        pytest.param("null", id="null"),
        pytest.param("value + 1 > 2", id="a double plus an int"),
        pytest.param("value.size > 2", id="a field of a number"),
        pytest.param("value < 300 || value.x", id="an error behind what may be false"),
        pytest.param("value > 300 ? true : value", id="a number on one side"),
        pytest.param("(" * 400 + "value" + ")" * 400, id="deeply nested"),
        pytest.param("value > 1 " + "|| value > 1 " * 200, id="too long"),
        pytest.param("[1,2,3].all(x, [1].all(y, " * 30 + "true" + "))" * 30, id="macros in macros"),
        pytest.param("value > 1\x00", id="a null character"),
        pytest.param("\ud800", id="half a character"),
        pytest.param("", id="nothing"),
        pytest.param("true", id="always true"),
        pytest.param("300 >= 200", id="two constants"),
        pytest.param('"value" == "value" // value', id="value in a text and in a remark"),
        pytest.param("[400].all(value, value > 300)", id="a variable of its own that is called value"),
    ],
)
def test_what_cannot_be_evaluated_is_a_violation_with_its_own_reason(expression: str) -> None:
    (violation,) = evaluate({"busBandwidthGBps": expression}, MEASURED)
    assert violation.reason == "InvalidThresholdExpression"
    assert violation.key in violation.message
    assert isinstance(compile_threshold(expression), str)
    assert "\n" not in violation.message


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e6, 1e6), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.floats(-1e6, 1e6))
def test_a_comparison_is_a_threshold_only_where_one_side_is_what_was_measured(a: float, sign: str, b: float) -> None:
    assert "does not use value" in str(compile_threshold(f"{a:f} {sign} {b:f}"))
    assert isinstance(compile_threshold(f"value {sign} {b:f}"), Compiled)
    assert isinstance(compile_threshold(f"{a:f} {sign} value"), Compiled)


def test_a_violation_says_what_was_measured_and_what_was_required() -> None:
    (violation,) = evaluate({"busBandwidthGBps": "value >= 500"}, MEASURED)
    assert (violation.reason, violation.measured, violation.expression) == (
        "ThresholdViolated",
        480.123456,
        "value >= 500",
    )
    assert violation.message == "threshold busBandwidthGBps: measured 480.1235 does not satisfy 'value >= 500'"


@pytest.mark.parametrize("measured", [{}, {"busBandwidthGBps": float("nan")}, {"busBandwidthGBps": float("inf")}])
def test_a_figure_without_a_value_is_unmeasured_even_where_the_expression_would_hold(
    measured: dict[str, float],
) -> None:
    (violation,) = evaluate({"busBandwidthGBps": "value == value || value != value"}, measured)
    assert (violation.reason, violation.measured) == ("Unmeasured", None)


def test_zero_is_a_value() -> None:
    assert evaluate({"busBandwidthGBps": "value == 0"}, {"busBandwidthGBps": 0}) == ()


def test_one_wrong_key_hides_no_other_threshold() -> None:
    thresholds = {"busBandwidthGBps": "value > 1e9", "avgTFLOPSPerGPU": "value > 0", "goodputRatio": "value > 0.5"}
    found = evaluate(thresholds, MEASURED)
    assert [(violation.key, violation.reason) for violation in found] == [
        ("avgTFLOPSPerGPU", "UnknownThresholdKey"),
        ("busBandwidthGBps", "ThresholdViolated"),
    ]
    assert "did you mean avgTFLOPsPerGPU?" in found[0].message


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("busbandwidthgbps", "busBandwidthGBps"),
        ("busBandwithGBps", "busBandwidthGBps"),
        ("minBusBandwidthGBps", "busBandwidthGBps"),
        ("goodput", "goodputRatio"),
        ("avgStepTime", "avgStepTimeSec"),
        ("zzz", None),
    ],
)
def test_the_nearest_valid_key_is_suggested(key: str, meant: str | None) -> None:
    problem = unknown_key(key)
    assert problem is not None
    assert ("did you mean" in problem) is (meant is not None)
    assert meant is None or problem.endswith(f"did you mean {meant}?")
    assert all(name in problem for name in FIGURES)


def test_a_valid_key_is_not_complained_about() -> None:
    assert [unknown_key(key) for key in FIGURES] == [None] * 5


def test_a_compiled_expression_keeps_its_text() -> None:
    compiled = compile_threshold("value >= 300")
    assert isinstance(compiled, Compiled)
    assert compiled.expression == "value >= 300"


@pytest.mark.parametrize(
    ("key", "expression", "answer"),
    [
        ("busBandwidthGBps", "value >= 300", None),
        ("busBandwidthGBps", "value > 1e9", None),
        ("busBandwidthGBps", "value > 299.9995 && value < 300.0005", None),
        ("busBandwidthGBps", "value == 480.123456", None),
        ("busBandwidthGBps", "value >= 0", True),
        ("busBandwidthGBps", "value < 300 || value > 200", True),
        ("busBandwidthGBps", "value > 300 && value < 200", False),
        ("goodputRatio", "value >= 0.9", None),
        ("goodputRatio", "value >= 90", False),
        ("goodputRatio", "value < 1.5", True),
        ("goodputRatio", "value >= ", None),
    ],
)
def test_a_condition_that_no_figure_changes_is_known(key: str, expression: str, answer: bool | None) -> None:
    assert only_answer(key, expression) is answer
