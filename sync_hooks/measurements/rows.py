"""Rows of an nccl-tests table as they stand in a log: recognised, split into columns, checked for being whole.

Columns differ between versions: a reduction and a root are printed or not, the last of four is a float error, a whole
number of wrong values or N/A, and statistics of the iterations may stand between.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from sync_hooks.measurements.collective import TYPE_BYTES
from sync_hooks.measurements.pattern import number_of

Columns = Sequence[str]
"""What a table's header names behind the type, the reduction left out: root, time, algbw, busbw, #wrong, and so on."""

Pairs = Sequence[tuple[float, float]]
"""Algorithm and bus bandwidth of every placement, in GB/s."""

TYPES = "|".join(sorted(TYPE_BYTES, key=len, reverse=True))
METRIC = re.compile(rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\Z|N/A\Z|-?(?:nan|inf)\Z")

_HEAD = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t]+(" + TYPES.encode() + rb")(?!\S)")
_REDUCTION = re.compile(rb"(?!nan\Z|inf\Z)[a-z]\w*\Z")
_ROOT = re.compile(rb"-1\Z|\d{1,5}\Z")  # of at most 99,999 ranks; a time of five digits is told apart by the columns
_REDUCTION_NAMES = frozenset({"redop", "op"})
_TIMES = frozenset({"time", "cputime"})
_NO_METRICS = frozenset({"root", "timestamp"})
_ERRORS = frozenset({"error", "res"})  # older versions print the largest deviation there
_WRONG = frozenset({"#wrong", *_ERRORS})
_PLACEMENT = ("time", "algbw", "busbw", "#wrong")
_USUAL = _PLACEMENT * 2
_NOT_CHECKED = b"N/A"
_TOLERANCE = 0.06  # times are printed with as few as two digits
PRINTED_GBPS = 0.006  # bandwidths are printed with two decimals


@dataclass(frozen=True, slots=True)
class Row:
    """A row in its columns. ``metrics`` are the numbers behind the root as printed: time, algbw, busbw and so on.

    ``numbers`` are their values, nan for what was not checked.
    """

    size: int
    count: int
    type: str
    reduction: str | None
    root: int | None
    metrics: tuple[bytes, ...]
    numbers: tuple[float, ...]


class RowLine(NamedTuple):
    """A line with a row, or the beginning of one, in a table of these columns; ``row`` is None where none is found."""

    text: bytes
    columns: Columns
    row: Row | None
    whole: bool


class _Places(NamedTuple):
    """Where the numbers of a row stand: ``bandwidths`` are those of algbw, each before its busbw."""

    names: tuple[str, ...]
    bandwidths: tuple[int, ...]
    wrong: tuple[int, ...]


def row_line(text: bytes, columns: Columns) -> RowLine:
    """Read a line in the columns of its table."""
    row = row_of(text, columns)
    return RowLine(text, columns, row, whole=row is not None and is_whole(row, columns))


def row_of(line: bytes, columns: Columns) -> Row | None:
    """Find a row in a line; messages may stand before it. None for a line without one."""
    head = _HEAD.search(line)
    if head is None:
        return None
    words = line[head.end() :].split()
    reduction = words[0].decode() if words and _REDUCTION.match(words[0]) else None
    metrics = tuple(takewhile(METRIC.match, words[1:] if reduction else words))
    root = _root(metrics, columns)
    if root is not None:
        metrics = metrics[1:]
    numbers = [math.nan if text == _NOT_CHECKED else float(text) for text in metrics]
    size, count, type_ = head.groups()
    return Row(int(size), int(count), type_.decode(), reduction, root, metrics, tuple(numbers))


def columns_of(header: bytes) -> list[str]:
    """Read the columns behind the type from a table's header; none from one that was torn."""
    names = header.decode(errors="replace").split()
    behind = names[names.index("type") + 1 :] if "type" in names else []
    columns = [name for name in behind if name not in _REDUCTION_NAMES]
    return columns if _is_whole_header([name for name in columns if name not in _NO_METRICS]) else []


def _is_whole_header(metrics: Sequence[str]) -> bool:
    """Tell whether a header names one placement or two alike, each from its time to its errors at least."""
    starts = [at for at, name in enumerate(metrics) if name in _TIMES]
    placements = [metrics[start:end] for start, end in pairwise([*starts, len(metrics)])]
    return (
        starts[:1] == [0]
        and len({len(placement) for placement in placements}) == 1
        and all(
            placement[1:3] == ["algbw", "busbw"] and placement[3:4] and placement[3] in _WRONG
            for placement in placements
        )
    )


def metric_names(columns: Columns) -> tuple[str, ...]:
    """Name the numbers of a row, the usual ones where no header was seen."""
    return _places(tuple(columns)).names


@lru_cache(maxsize=64)  # asked for with every row, and a table has one header
def _places(columns: tuple[str, ...]) -> _Places:
    names = tuple(name for name in columns if name not in _NO_METRICS) or _USUAL
    bandwidths = (at for at in range(len(names)) if names[at : at + 2] == ("algbw", "busbw"))
    return _Places(names, tuple(bandwidths), tuple(at for at, name in enumerate(names) if name in _WRONG))


def is_whole(row: Row, columns: Columns) -> bool:
    """Tell whether a row has exactly the numbers that its table prints."""
    return len(row.metrics) == len(metric_names(columns))


def is_one_placement(row: Row, columns: Columns) -> bool:
    """Tell whether a row may be of a version that prints one placement: only where no header says otherwise."""
    return not columns and len(row.metrics) == len(_PLACEMENT)


def adds_up(row: Row, columns: Columns) -> bool:
    """Tell whether a row's numbers belong together.

    The bandwidth is the size by the time, and bus and algorithm bandwidth have the same relation in both placements.
    """
    pairs, time = bandwidths(row, columns), row.numbers[0] if row.numbers else 0
    expected = row.size / time / 1e3 if pairs and time > 0 else -1  # bytes a microsecond are MB/s
    if not pairs or not _is_close(pairs[0][0], expected, PRINTED_GBPS):
        return False
    (alg, bus), (other_alg, other_bus) = pairs[0], pairs[-1]
    return _is_close(alg * other_bus, bus * other_alg, PRINTED_GBPS * (alg + bus + other_alg + other_bus))


def _is_close(value: float, expected: float, slack: float) -> bool:
    return abs(value - expected) <= slack + _TOLERANCE * abs(expected)


def bandwidths(row: Row, columns: Columns) -> Pairs:
    """Return algorithm and bus bandwidth of every placement of a row."""
    places, numbers = _places(tuple(columns)).bandwidths, row.numbers
    return [(numbers[at], numbers[at + 1]) for at in places if at + 1 < len(numbers)]


def counts_wrong(columns: Columns) -> bool:
    """Tell whether a table counts wrong values, as nccl-tests do since 2022; before, it prints the largest error."""
    return "#wrong" in columns


def wrong_values(row: Row, columns: Columns) -> int | None:
    """Count the wrong values that a row reports, in place and out of place; None where it was not checked."""
    names, _, places = _places(tuple(columns))
    counts = [_wrong(names[at], row.metrics[at]) for at in places if at < len(row.metrics)]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def wrong_in(line: bytes, columns: Columns) -> int:
    """Count the wrong values of a row that gives no bandwidth; 0 where its columns are not all there.

    Words that are no numbers may stand among them, but in no placement more than one, and not as a count.
    """
    head = _HEAD.search(line)
    names, words = metric_names(columns), line[head.end() :].split() if head else []
    words = words[1:] if words and _REDUCTION.match(words[0]) else words
    words = words[1:] if _root(words, columns) is not None else words
    words = words[: len(names)] if "timestamp" in columns else words
    damaged = sum(not METRIC.match(word) for word in words)
    if len(words) != len(names) or damaged > sum(name in _WRONG for name in names):
        return 0
    named = zip(names, words, strict=True)
    return sum(_wrong(name, word) or 0 for name, word in named if name in _WRONG and METRIC.match(word))


def _wrong(name: str, text: bytes) -> int | None:
    if text == _NOT_CHECKED:
        return None
    value = number_of(text)
    if value is None:  # nan or inf: nothing that was computed right
        return 1
    if name in _ERRORS:
        return int(value >= 1)  # smaller deviations are judged by the test's own footer: they depend on the type
    return int(value) if value >= 1 else 0


def _root(metrics: Sequence[bytes], columns: Columns) -> int | None:
    """Without a header, the number of columns tells whether the first of them is the root: each placement has four."""
    has_root = "root" in columns if columns else len(metrics) % 4 == 1
    return int(metrics[0]) if has_root and metrics and _ROOT.match(metrics[0]) else None
