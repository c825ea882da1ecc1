"""One expression of a LogProfile, compiled with RE2 and searched for in whole pieces of a log, a line at a time.

The expression sees the application's own text: the kubelet's timestamp is neither part of a match nor does it keep
``^`` from matching behind it. RE2 takes linear time whatever the expression is, and refuses look-around.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sync_hooks.measurements.stamp import LONGEST_STAMP, text_start

_STAMP = r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) ?)?"
_WHOLE_LOG_ANCHOR = re.compile(r"(?<!\\)(?:\\\\)*\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
_GROUP = re.compile(r"(?<!\\)(?:\\\\)*\(\?P?<(\w+)>")
_ELEMENT = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\^", re.DOTALL)
_NAMED = re.compile(rf"{_ELEMENT.pattern}|\(\?P?<\w+>", re.DOTALL)
_MOST_MEMORY = 8 << 20  # bytes for the automata of one expression
_MOST_DIGITS = 18  # of an int64


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression: ``groups`` maps the names of its groups to their numbers."""

    regex: Any  # google-re2 ships no types
    prefilter: Any | None  # finds candidates in raw lines where the expression itself has to start a line
    groups: Mapping[str, int]
    expression: str


class Hit(NamedTuple):  # there is one for every step of a log, and a tuple is made four times as fast as a dataclass
    """The first match in a line. ``start`` and ``end`` are the line's own, timestamp included, line feed not."""

    lines: bytes
    start: int
    end: int
    spans: Sequence[tuple[int, int]]  # relative to ``origin``
    origin: int
    groups: Mapping[str, int]

    def text(self, name: str) -> bytes | None:
        """Return what a named group captured; None where the pattern has none, or it took no part in the match."""
        number = self.groups.get(name)
        if number is None:
            return None
        first, behind = self.spans[number]
        return None if first < 0 else self.lines[self.origin + first : self.origin + behind]

    def integer(self, name: str) -> int | None:
        """Return a captured whole number."""
        text = self.text(name)
        if text is None:
            return None
        if text.isdigit() and len(text) <= _MOST_DIGITS:
            return int(text)
        value = number_of(text)
        return int(value) if value is not None and value.is_integer() and abs(value) < 10**_MOST_DIGITS else None

    def number(self, name: str) -> float | None:
        """Return a captured finite number, thousands separators allowed."""
        return number_of(self.text(name))

    def line(self) -> bytes:
        """Return the whole line."""
        return self.lines[self.start : self.end]


def number_of(text: bytes | None) -> float | None:
    """Read a finite decimal number, thousands separators allowed; None for anything else."""
    if text is None or b"_" in text:  # Python's float takes 1_0
        return None
    try:
        value = float(text.replace(b",", b"") if b"," in text else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def compile_pattern(expression: str) -> Pattern | str:
    """Compile an expression, or say in one sentence what is wrong with it."""
    names = _GROUP.findall(expression)
    if len(set(names)) < len(names):
        return f"names the group {next(name for name in names if names.count(name) > 1)!r} twice"
    if _WHOLE_LOG_ANCHOR.search(expression):
        return r"uses \A, \z or (?-m); ^ and $ are the ends of a line, and there are no ends of the log to match"
    regex = _compile(expression)
    if isinstance(regex, str):
        return regex
    prefilter = _compile(_ELEMENT.sub(_behind_stamp, expression)) if _is_anchored(expression) else None
    if isinstance(prefilter, str):
        return prefilter
    groups = {name.decode(errors="replace"): number for name, number in regex.NamedCapturingGroups()}
    return Pattern(regex, prefilter, groups, expression)


def either(first: Pattern, second: Pattern) -> Pattern | None:
    """Compile an expression for the lines that one of two matches, without their groups; None where it is too large.

    A log is searched once for both then: most of its lines match neither.
    """
    return _either(first.expression, second.expression)


@lru_cache(maxsize=64)  # as many as there are profiles
def _either(*expressions: str) -> Pattern | None:
    closed = (_NAMED.sub(_without_name, expression) for expression in expressions)
    compiled = compile_pattern("|".join(f"(?:{expression})" for expression in closed))
    return compiled if isinstance(compiled, Pattern) else None


def _without_name(element: re.Match[str]) -> str:
    text = element.group()
    if text.startswith("(?"):
        return "(?:"
    return text + r"\E" if text.startswith(r"\Q") and not text.endswith(r"\E") else text


def hits(pattern: Pattern, lines: bytes, position: int = 0, size: int | None = None) -> Iterator[Hit]:
    """Find the lines that match, in order, each with its first match; of all lines, or between two beginnings."""
    regex, prefilter = pattern.regex, pattern.prefilter
    anywhere, search = _anywhere(), (prefilter or regex).Match
    size = len(lines) if size is None else size
    while position < size:
        spans = search(anywhere, lines, position, size)
        first, behind = spans[0]
        if first < 0:
            return
        begin = lines.rfind(b"\n", 0, first) + 1
        if begin == size:  # nothing follows the last line feed, not even an empty line
            return
        end = lines.find(b"\n", behind)
        end = size if end < 0 else end
        origin = 0
        if prefilter is not None or (first - begin < LONGEST_STAMP and first < text_start(lines, begin)):
            origin = text_start(lines, begin)
            spans = regex.Match(anywhere, lines[origin:end], 0, end - origin)
        if spans[0][0] >= 0:
            yield Hit(lines, begin, end, spans, origin, pattern.groups)
        position = end + 1


def matches(pattern: Pattern, line: bytes) -> bool:
    """Tell whether one line matches; its timestamp does not count."""
    return next(hits(pattern, line.replace(b"\n", b" ")), None) is not None


def _compile(expression: str) -> Any:
    """Compile to the extension's own class: the wrapper around it takes three times as long for a match."""
    import re2

    options = re2.Options()
    options.never_nl = True  # no expression reaches across lines, not even [^x]
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    compiled = re2._re2.RE2(f"(?m){expression}".encode(), options)
    return compiled if compiled.ok() else compiled.error().decode(errors="replace")


@cache
def _anywhere() -> Any:
    import re2

    return re2._re2.RE2.Anchor.UNANCHORED


def _is_anchored(expression: str) -> bool:
    return any(element.group() == "^" for element in _ELEMENT.finditer(expression))


def _behind_stamp(element: re.Match[str]) -> str:
    return f"(?:^{_STAMP})" if element.group() == "^" else element.group()
