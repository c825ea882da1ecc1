"""LogProfiles, compiled: every error with its field, and lines as expressions see them."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.api.errors import FieldError
from sync_hooks.measurements.pattern import Pattern, compile_pattern, hits
from sync_hooks.measurements.profile import CompiledProfile, read_profile
from tests.sync_hooks.measurements.worlds import ROOT, shipped, stamped

LAYOUT = {"layout": "2006-01-02 15:04:05"}
STEP = r"step (?P<globalStep>\d+)"


def errors(patterns: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    found = read_profile({"timestamp": LAYOUT, "patterns": patterns, **more})
    assert isinstance(found, tuple), found
    assert all(isinstance(error, FieldError) for error in found)
    return [(error.field, error.type) for error in found]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "charts" / "workloadrun" / "profiles").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_shipped_profile_compiles_with_an_example_for_every_pattern(path: Any) -> None:
    spec = shipped(path.stem)
    assert isinstance(read_profile(spec), CompiledProfile)
    assert all("example" in pattern for pattern in spec["patterns"].values())


@pytest.mark.parametrize(
    ("patterns", "field", "type_"),
    [
        pytest.param(
            {"trainingStep": {"regex": "(a"}},
            "spec.patterns.trainingStep.regex",
            "FieldValueInvalid",
            id="no expression",
        ),
        pytest.param(
            {"trainingStep": {"regex": r"(?=x)(?P<iteration>\d+)"}},
            "spec.patterns.trainingStep.regex",
            "FieldValueInvalid",
            id="look-around",
        ),
        pytest.param(
            {"trainingStep": {"regex": r"(?P<iteration>\d)\1"}},
            "spec.patterns.trainingStep.regex",
            "FieldValueInvalid",
            id="back-reference",
        ),
        pytest.param(
            {"trainingStep": {"regex": r"\Astep (?P<iteration>\d+)"}},
            "spec.patterns.trainingStep.regex",
            "FieldValueInvalid",
            id="beginning of the log",
        ),
        pytest.param(
            {"trainingStep": {"regex": r"(?P<iteration>\d)(?P<iteration>\d)"}},
            "spec.patterns.trainingStep.regex",
            "FieldValueInvalid",
            id="a group twice",
        ),
        pytest.param(
            {"trainingStep": {"regex": "step"}},
            "spec.patterns.trainingStep.regex",
            "FieldValueRequired",
            id="no step number",
        ),
        pytest.param(
            {"bandwidthResult": {"regex": r"(?P<size>\d+) (?P<algBW>\d+)"}},
            "spec.patterns.bandwidthResult.regex",
            "FieldValueRequired",
            id="no busBW",
        ),
        pytest.param(
            {"networkTransport": {"regex": "NET"}},
            "spec.patterns.networkTransport.regex",
            "FieldValueRequired",
            id="no transport",
        ),
        pytest.param(
            {"trainingStep": {"regex": STEP, "example": "stop 1"}},
            "spec.patterns.trainingStep.example",
            "FieldValueInvalid",
            id="example of something else",
        ),
        pytest.param(
            {"trainingStep": {"regex": f"^{STEP}", "example": "a step 1"}},
            "spec.patterns.trainingStep.example",
            "FieldValueInvalid",
            id="example that does not begin so",
        ),
        pytest.param(
            {"trainingStep": {"regex": STEP, "units": {"stepTiming": "ms"}}},
            "spec.patterns.trainingStep.units",
            "FieldValueInvalid",
            id="unit of nothing",
        ),
        pytest.param(
            {"trainingStep": {"regex": STEP, "units": {"globalStep": "ms"}}},
            "spec.patterns.trainingStep.units",
            "FieldValueInvalid",
            id="unit of a count",
        ),
        pytest.param(
            {"trainingStep": {"regex": STEP, "units": {"stepTiming": "min"}}},
            "spec.patterns.trainingStep.units.stepTiming",
            "FieldValueInvalid",
            id="unknown unit",
        ),
        pytest.param(
            {"trainingSteps": {"regex": STEP}}, "spec.patterns.trainingSteps", "FieldValueInvalid", id="unknown pattern"
        ),
        pytest.param({"trainingStep": {}}, "spec.patterns.trainingStep.regex", "FieldValueRequired", id="no regex"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(patterns: dict[str, Any], field: str, type_: str) -> None:
    assert errors(patterns) == [(field, type_)]


def test_every_error_is_reported_at_once() -> None:
    found = errors({"trainingStep": {"regex": "("}, "checkpointDone": {"regex": ")"}}, timestamp={"layout": "%H:%M"})
    assert [field for field, _ in found] == [
        "spec.timestamp.layout",
        "spec.patterns.trainingStep.regex",
        "spec.patterns.checkpointDone.regex",
    ]


def pattern(expression: str) -> Pattern:
    compiled = compile_pattern(expression)
    assert isinstance(compiled, Pattern), compiled
    return compiled


LINES = ["step 1 of 2, step 2", "a step 3", "", "2026-01-01 is a date", "foo^bar", "Zoë step 4"]


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        pytest.param(STEP, [0, 1, 5], id="anywhere in a line, once a line"),
        pytest.param(f"^{STEP}", [0], id="at the beginning of the application's text"),
        pytest.param("2$", [0], id="at its end"),
        pytest.param(r"^\d{4}-\d\d-\d\d", [3], id="no timestamp of the kubelet's"),
        pytest.param(r"\d{4}-\d\d-\d\d", [3], id="none anywhere"),
        pytest.param(r"T12:00|000Z", [], id="not its clock either"),
        pytest.param("^$", [2], id="an empty line"),
        pytest.param(r"step\s+\d[^x]*step", [0], id="not across lines"),
        pytest.param(r"(?s)step.*date", [], id="not across lines even if asked to"),
        pytest.param(r"foo\^", [4], id="an escaped anchor"),
        pytest.param("foo[^x]b", [4], id="a negated class"),
        pytest.param(r"(?:^|, )step 2", [0], id="an anchor among alternatives"),
        pytest.param("Zo. ", [5], id="a letter of two bytes"),
        pytest.param(r"(?i)^ZO", [5], id="flags"),
    ],
)
def test_an_expression_sees_lines_as_the_application_wrote_them(expression: str, matched: list[int]) -> None:
    plain, prefixed = "\n".join(LINES).encode() + b"\n", stamped(LINES)
    for lines in (plain, prefixed):
        found = [lines.count(b"\n", 0, hit.start) for hit in hits(pattern(expression), lines)]
        assert found == matched


def test_captures_are_those_of_the_first_match() -> None:
    for expression in (STEP, f"^{STEP}"):
        first = next(hits(pattern(expression), stamped(LINES)))
        assert (first.integer("globalStep"), first.text("nothing")) == (1, None)


@pytest.mark.parametrize(
    ("text", "number", "integer"),
    [
        ("12", 12.0, 12),
        ("1,234.5", 1234.5, None),
        ("1e3", 1000.0, 1000),
        ("9" * 18, 1e18, int("9" * 18)),
        ("9" * 19, 1e19, None),
        ("1_0", None, None),
        ("nan", None, None),
        ("inf", None, None),
        ("1e999", None, None),
        ("x", None, None),
    ],
)
def test_numbers_are_finite_and_whole_ones_fit_into_64_bits(text: str, number: float, integer: int) -> None:
    hit = next(hits(pattern(r"^(?P<x>.*)$"), text.encode()))
    assert (hit.number("x"), hit.integer("x")) == (number, integer)
