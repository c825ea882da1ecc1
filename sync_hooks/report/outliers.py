"""Groups that stand apart from the others, told without any threshold. They are shown and never change a verdict.

A value is an outlier where it is further from the median than 3.5 scaled median absolute deviations (MAD), the usual
bound of Iglewicz and Hoaglin, and further than 5 % of the median: where groups are nearly equal the MAD is next to
nothing, and differences that mean nothing would be many of them. Both bounds hold although almost half of the groups
are bad, which a mean and a standard deviation would not survive.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby

from sync_hooks.report.figures import FEWEST_GROUPS, Sorted, Values, median_of

MOST_DEVIATIONS = 3.5
SCALE = 1.4826  # of the MAD, which makes it the standard deviation where values are normally distributed
LEAST_SHARE = 0.05  # of the median


def outliers(parts: Sequence[Values], most: int) -> list[tuple[float, int]]:
    """Return the first ``most`` outliers among values of groups, furthest first, each group with its furthest value.

    ``parts`` have, together, the values over all iterations. Empty where fewer than five groups were measured.
    """
    if len(frozenset[int]().union(*(part.some for part in parts))) < FEWEST_GROUPS:
        return []
    middle = median_of([(range(len(part.values)), part.values.__getitem__) for part in parts])
    deviation = SCALE * median_of([side for part in parts for side in _sides(part, middle)])
    bound = max(MOST_DEVIATIONS * deviation, LEAST_SHARE * abs(middle))
    furthest: dict[int, float] = {}
    for negative, value, group in merge(*(end for part in parts for end in _ends(part, middle))):
        if -negative <= bound or len(furthest) == most:
            break
        furthest.setdefault(group, value)
    return [(value, group) for group, value in furthest.items()]


def _sides(part: Values, middle: float) -> tuple[Sorted, Sorted]:
    """Return the distances to the median on either side of it, the least first."""
    split = bisect_left(part.values, middle)

    def distance(position: int) -> float:
        return abs(part.values[position] - middle)

    return (range(split - 1, -1, -1), distance), (range(split, len(part.values)), distance)


def _ends(part: Values, middle: float) -> tuple[Iterator[tuple[float, float, int]], ...]:
    """Return (distance below zero, value, group) in that order, from either end of the values to the median."""

    def along(positions: range) -> Iterator[tuple[float, float, int]]:
        triples = ((-abs(part.values[position] - middle), *part.pair(position)) for position in positions)
        for _, alike in groupby(triples, key=lambda triple: triple[0]):
            yield from sorted(alike)

    (below, _), (above, _) = _sides(part, middle)
    return along(below[::-1]), along(above[::-1])
