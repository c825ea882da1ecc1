"""Two expressions searched for at once: exactly the lines of both, whatever they are made of."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sync_hooks.measurements.pattern import Pattern, compile_pattern, either, hits
from tests.sync_hooks.measurements.worlds import stamped

LINES = ["alpha 1", "", "Beta 2", "(?P<x>", "a|b", "gamma (1)", "alpha", "delta \\ 3", "x"]
EXPRESSIONS = {
    "one name": r"(?P<x>alpha) \d",
    "the same name": r"(?P<x>\d)$",
    "a start": r"^(?P<word>[a-z]+)$",
    "an empty line": r"^$",
    "an alternative": r"alpha|gamma",
    "a flag": r"(?i)beta",
    "a class of marks": r"[(?P<x>]{6}",
    "an escape": r"\(?P<x>",
    "a quoted bar": r"\Qa|b\E",
    "a quote left open": r"\Qgamma (",
    "another way to name": r"(?<y>delta \\)",
}


def pattern(expression: str) -> Pattern:
    compiled = compile_pattern(expression)
    assert isinstance(compiled, Pattern), compiled
    return compiled


def found(searched: Pattern, text: bytes) -> set[int]:
    return {text.count(b"\n", 0, hit.start) for hit in hits(searched, text)}


@pytest.mark.parametrize("second", EXPRESSIONS.values(), ids=EXPRESSIONS)
@pytest.mark.parametrize("first", EXPRESSIONS.values(), ids=EXPRESSIONS)
@pytest.mark.parametrize("text", [stamped(LINES), "\n".join(LINES).encode()], ids=["stamped", "bare"])
def test_the_lines_of_both_are_found_and_no_others(first: str, second: str, text: bytes) -> None:
    both = either(pattern(first), pattern(second))
    assert both is None or found(both, text) == found(pattern(first), text) | found(pattern(second), text)


def test_whatever_is_usable_can_be_put_together() -> None:
    alone = {name for name, item in EXPRESSIONS.items() if either(pattern(item), pattern("x")) is None}
    assert alone == set()


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_a_search_line_by_line_finds_what_a_search_of_all_finds(expression: str) -> None:
    text, searched = stamped(LINES), pattern(expression)
    starts = [0, *(at + 1 for at, byte in enumerate(text) if byte == 10)]
    pieces = [hits(searched, text, start, end) for start, end in pairwise(starts)]
    assert [hit.start for piece in pieces for hit in piece] == [hit.start for hit in hits(searched, text)]
