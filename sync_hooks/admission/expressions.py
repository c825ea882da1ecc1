"""CEL conditions, compiled and never run: whatever an expression would cost to evaluate, checking it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sync_hooks.api.errors import cut

LONGEST = 2048  # characters; the compiler's time grows with the length
LONGEST_REASON = 100  # characters; the compiler lists every token that it would have taken

Variables = Mapping[str, str]
"""Names of variables, each with the name of its CEL type: STRING, INT, DYN."""


def expression_problem(expression: str, variables: Variables) -> str | None:
    """Say what is wrong with a condition: it does not compile, or gives something else than a bool."""
    if len(expression) > LONGEST:
        return f"must have at most {LONGEST} characters"
    return _problem(expression, tuple(sorted(variables.items())))


@lru_cache(maxsize=256)  # the same few conditions come again at /validate, at sync and in the next run
def _problem(expression: str, variables: tuple[tuple[str, str], ...]) -> str | None:
    from cel_expr_python import cel  # heavy, and few objects have an expression

    try:
        type_ = _environment(variables).compile(expression).return_type()
    except (RuntimeError, ValueError) as error:  # the compiler's own, for syntax, names and types
        return f"does not compile: {_first_line(str(error))}"
    if type_ not in (cel.Type.BOOL, cel.Type.DYN):
        return "must give true or false"
    return None


@lru_cache(maxsize=8)
def _environment(variables: tuple[tuple[str, str], ...]) -> Any:
    from cel_expr_python import cel

    return cel.NewEnv(variables={name: getattr(cel.Type, type_) for name, type_ in variables})


def _first_line(text: str) -> str:
    """Keep the place and the sentence of a compiler's error: ``1:3: undeclared reference to 'x'``."""
    line = text.splitlines()[0] if text else "no reason given"
    return cut(line.rpartition("<input>:")[2].removesuffix(" (in container '')"), LONGEST_REASON)
