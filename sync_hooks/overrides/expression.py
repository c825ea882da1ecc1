"""CEL conditions of overrides. What cannot be compiled or evaluated is a value with the reason, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sync_hooks.api.errors import cut

VARIABLES = ("platform", "gpuArchitecture", "workloadKind", "topologyMode")
NUMBER = "domainCount"
LONGEST_MESSAGE = 160  # characters; the parser lists everything that it would have taken


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """Why an expression has no value."""

    message: str


def evaluate(expression: str, values: Mapping[str, str | int]) -> bool | ExpressionProblem:
    """Evaluate a condition over what was detected; anything but a bool is a problem."""
    try:
        result = _environment().compile(expression).eval(data=dict(values))
    except RuntimeError as error:  # the runtime's own, for syntax and types
        return ExpressionProblem(cut(str(error).splitlines()[0], LONGEST_MESSAGE))
    value = result.value()
    if isinstance(value, bool):
        return value
    return ExpressionProblem(f"gives {value!r}, a bool is needed")


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # heavy, and few overrides have an expression

    types = {**dict.fromkeys(VARIABLES, cel.Type.STRING), NUMBER: cel.Type.INT}
    return cel.NewEnv(variables=types)
