"""Thresholds: CEL expressions over one measured number, ``value``, by the key of the figure they are about.

Fails closed: what cannot be evaluated (an unknown key, a figure without a value, an expression that does not compile or
gives no boolean) is a violation with a reason of its own. No key hides another: all are looked at, all are reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any, Literal

from sync_hooks.api.errors import cut

Reason = Literal["ThresholdViolated", "InvalidThresholdExpression", "UnknownThresholdKey", "Unmeasured"]

BANDWIDTH = "BandwidthMeasurement"
GOODPUT = "GoodputMeasurement"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a threshold may be about, and which measurement brings it."""

    measurement: str
    spec_field: str
    meaning: str
    largest: float = math.inf


FIGURES: Mapping[str, Figure] = {
    "algBandwidthGBps": Figure(BANDWIDTH, "bandwidthMeasurement", "largest algorithm bandwidth of all message sizes"),
    "avgStepTimeSec": Figure(GOODPUT, "goodputMeasurement", "seconds per training step, warm-up left out"),
    "avgTFLOPsPerGPU": Figure(GOODPUT, "goodputMeasurement", "TFLOP/s per GPU as printed, warm-up left out"),
    "busBandwidthGBps": Figure(BANDWIDTH, "bandwidthMeasurement", "largest bus bandwidth of all message sizes"),
    "goodputRatio": Figure(GOODPUT, "goodputMeasurement", "share of the training time that made progress, 0 to 1", 1.0),
}
"""Every key there is; thresholds of other keys are refused by admission and fail a run that has them all the same."""

_LONGEST_EXPRESSION = 1024  # characters, as in the schema
_TRIALS = (0.0, 0.5, 1.0, 300.0, 1e6)  # an expression has to give a boolean for whatever may be measured

_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_BESIDE = 1e-3


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression that gave a boolean for every trial value."""

    expression: str
    program: Any  # cel_expr_python ships no types


@dataclass(frozen=True, slots=True)
class Violation:
    """A threshold that is not met, or cannot be evaluated. ``message`` is a whole sentence for people."""

    key: str
    reason: Reason
    message: str
    expression: str
    measured: float | None = None


def evaluate(thresholds: Mapping[str, str], measured: Mapping[str, float]) -> tuple[Violation, ...]:
    """Return every violation, sorted by key; none means that all thresholds are met."""
    found = (_violation(key, thresholds[key], measured.get(key)) for key in sorted(thresholds))
    return tuple(violation for violation in found if violation is not None)


def unknown_key(key: str) -> str | None:
    """Say what is wrong with a key, naming the valid one that it resembles; None for a valid key."""
    if key in FIGURES:
        return None
    lowered = {name.lower(): name for name in FIGURES}
    nearest = get_close_matches(key.lower(), lowered, n=1)
    hint = f"; did you mean {lowered[nearest[0]]}?" if nearest else ""
    return f"{cut(key)!r} is no figure; figures are {', '.join(FIGURES)}{hint}"


def compile_threshold(expression: str) -> Compiled | str:
    """Compile an expression and try it, or say in one line what is wrong with it."""
    if len(expression) > _LONGEST_EXPRESSION:
        return f"is longer than {_LONGEST_EXPRESSION} characters"
    return _compiled(expression)


def _violation(key: str, expression: str, measured: float | None) -> Violation | None:
    problem = unknown_key(key)
    if problem:
        return Violation(key, "UnknownThresholdKey", problem, expression, measured)
    compiled = compile_threshold(expression)
    if isinstance(compiled, str):
        message = f"threshold {key}: {cut(expression)!r} {compiled}"
        return Violation(key, "InvalidThresholdExpression", message, expression, measured)
    if measured is None or not math.isfinite(measured):
        message = f"threshold {key}: nothing was measured to hold against {cut(expression)!r}"
        return Violation(key, "Unmeasured", message, expression)
    outcome = _run(compiled.program, float(measured))
    if isinstance(outcome, str):
        message = f"threshold {key}: {cut(expression)!r} {outcome}"
        return Violation(key, "InvalidThresholdExpression", message, expression, measured)
    if outcome:
        return None
    message = f"threshold {key}: measured {measured:.4f} does not satisfy {cut(expression, 200)!r}"
    return Violation(key, "ThresholdViolated", message, expression, measured)


@lru_cache(maxsize=256)  # the same few come with every object
def only_answer(key: str, expression: str) -> bool | None:
    """Tell what an expression says of whatever the figure may be, None where that depends on the figure.

    Tried at the numbers of the expression and beside them: between two of them a comparison does not change.
    """
    compiled = compile_threshold(expression)
    if isinstance(compiled, str):
        return None
    named = [float(number) for number in _NUMBER.findall(expression)]
    beside = (number * factor for number in named for factor in (1 - _BESIDE, 1.0, 1 + _BESIDE))
    values = (value for value in (*_TRIALS, *beside) if value <= FIGURES[key].largest)
    answers = {_run(compiled.program, value) for value in values}
    return True if answers == {True} else False if answers == {False} else None


@lru_cache(maxsize=256)  # every Job of a run has the same few
def _compiled(expression: str) -> Compiled | str:
    try:
        program = _environment().compile(expression)
    except (RuntimeError, ValueError, TypeError) as error:  # what the extension raises for a text that is no CEL
        return f"does not compile: {_first_line(error)}"
    outcomes = (_run(program, value) for value in _TRIALS)
    problem = next((outcome for outcome in outcomes if isinstance(outcome, str)), None)
    if problem is None and _says_nothing(expression):
        return "does not use value: it says the same whatever is measured"
    return problem if problem is not None else Compiled(expression, program)


def _says_nothing(expression: str) -> bool:
    """Tell whether an expression that compiles never uses ``value``: it compiles where there is no such variable."""
    try:
        _environment(value=False).compile(expression)
    except (RuntimeError, ValueError, TypeError):
        return False
    return True


def _run(program: Any, value: float) -> bool | str:
    """Evaluate for one value; text says why there is no boolean."""
    try:
        result = program.eval(data={"value": value})
        outcome, kind = result.value(), result.type().name()
    except (RuntimeError, ValueError, TypeError) as error:
        return f"cannot be evaluated: {_first_line(error)}"
    if isinstance(outcome, bool):
        return outcome
    if kind == "ERROR":
        return f"cannot be evaluated for {value:g}: {_first_line(outcome)}"
    return f"gives {kind.lower()}, not true or false"


@cache
def _environment(*, value: bool = True) -> Any:
    from cel_expr_python import cel

    # DYN, because the checker knows no comparison of a double with an int, and people write value >= 300.
    return cel.NewEnv(variables={"value": cel.Type.DYN} if value else {})


def _first_line(problem: object) -> str:
    """Cut the runtime's words down to what a person wrote wrong: no status codes, no picture of the place."""
    lines = str(problem).split("\n")
    text = lines[0].removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: ").removeprefix("<input>:")
    return cut(text.removesuffix(" [INVALID_ARGUMENT]").removeprefix("UNKNOWN: "), 200)
