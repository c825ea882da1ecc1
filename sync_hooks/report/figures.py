"""Values of figures, kept sorted: several collections of them are looked at together without being put together.

So a sync under way pays for the groups of its own iteration: of those before it, however many, it takes a few looks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sync_hooks.report.iteration import RANKS_APART, IterationResult

FIGURES = ("busBandwidthGBps", "algBandwidthGBps", "goodputRatio", "avgTFLOPsPerGPU", "avgStepTimeSec")
FEWEST_GROUPS = 5  # that outliers can be told among: of fewer, two can be half

Pair = tuple[float, int]
"""A value and its group."""

Sorted = tuple[range, Callable[[int], float]]
"""Positions, and what is told of each: it ascends."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values of one figure with their groups, sorted by both."""

    values: array[float]
    groups: array[int]
    some: frozenset[int]
    """Groups that were measured: all where they are fewer than `FEWEST_GROUPS`, else as many of them."""

    def pair(self, position: int) -> Pair:
        """Return a value with its group."""
        return self.values[position], self.groups[position]

    def pairs(self) -> Iterable[Pair]:
        """Return all of them."""
        return zip(self.values, self.groups, strict=True)


Figures = Mapping[str, Values]


def values_of(pairs: Iterable[Pair]) -> Values:
    """Sort values of one figure."""
    known = sorted(pairs)
    some = frozenset(sorted({group for _, group in known})[:FEWEST_GROUPS])
    return Values(array("d", [value for value, _ in known]), array("i", [group for _, group in known]), some)


def figures_of(results: Iterable[IterationResult]) -> Figures:
    """Collect what was measured by workloads that succeeded at the test that was asked for."""
    found: dict[str, list[Pair]] = {}
    for result in results:
        for outcome in result.groups:
            if not outcome.failure and outcome.validation_reason != RANKS_APART:
                for figure, value in outcome.figures.items():
                    found.setdefault(figure, []).append((value, outcome.group))
    return {figure: values_of(found[figure]) for figure in FIGURES if figure in found}


def together(old: Figures, new: Figures) -> Figures:
    """Put two collections into one."""
    both = {figure: [part[figure] for part in (old, new) if figure in part] for figure in (*old, *new)}
    return {
        figure: parts[0] if len(parts) == 1 else values_of([pair for part in parts for pair in part.pairs()])
        for figure, parts in both.items()
    }


def bytes_of(figures: Figures) -> int:
    """Return the bytes that the values take."""
    return sum(part.values.itemsize * len(part.values) + part.groups.itemsize * len(part.groups)
               for part in figures.values())  # fmt: skip


def median_of(parts: Sequence[Sorted]) -> float:
    """Return the median of all parts together, of which one has to have any."""
    count = sum(len(positions) for positions, _ in parts)
    high = _ranked(parts, count // 2)
    return high if count % 2 else (_ranked(parts, count // 2 - 1) + high) / 2


def _ranked(parts: Sequence[Sorted], rank: int) -> float:
    """Return what has a rank, from 0, among all parts together: no more than that are below, and more are not above."""
    for positions, told in parts:

        def is_reached(position: int, told: Callable[[int], float] = told) -> bool:
            most = told(position)
            return sum(bisect_right(where, most, key=each) for where, each in parts) > rank

        first = bisect_left(positions, True, key=is_reached)  # false comes before true
        if first < len(positions):
            found = told(positions[first])
            if sum(bisect_left(where, found, key=each) for where, each in parts) <= rank:
                return found
    raise ValueError(f"there are no more than {rank} values")
