"""Groups that stand apart from the others, told without any threshold. They are shown and never change a verdict.

A value is an outlier where it is further from the median than 3.5 scaled median absolute deviations (MAD), the usual
bound of Iglewicz and Hoaglin, and further than 5 % of the median: where groups are nearly equal the MAD is next to
nothing, and differences that mean nothing would be many of them. Both bounds hold although almost half of the groups
are bad, which a mean and a standard deviation would not survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

MOST_DEVIATIONS = 3.5
SCALE = 1.4826  # of the MAD, which makes it the standard deviation where values are normally distributed
LEAST_SHARE = 0.05  # of the median
FEWEST_GROUPS = 5  # of fewer, two can be half


def outliers(values: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return the outliers among values of groups, furthest first, each group once with its furthest value.

    ``values`` are (value, group) over all iterations, in any order. Empty where fewer than five groups were measured.
    """
    if len({group for _, group in values}) < FEWEST_GROUPS:
        return []
    middle = median(value for value, _ in values)
    deviation = SCALE * median(abs(value - middle) for value, _ in values)
    bound = max(MOST_DEVIATIONS * deviation, LEAST_SHARE * abs(middle))
    furthest: dict[int, float] = {}
    for value, group in sorted(values, key=lambda item: (-abs(item[0] - middle), item)):
        if abs(value - middle) > bound:
            furthest.setdefault(group, value)
    return [(value, group) for group, value in furthest.items()]
