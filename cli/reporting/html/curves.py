"""Bandwidth curves of groups on one axis of message sizes, and what they come to together. Draws nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cli.group_view import GroupView
from cli.reporting.html.bounds import bounds
from cli.run_view import RunView

FIGURE = "busBandwidthGBps"
HEADROOM = 1.08


@dataclass(frozen=True, slots=True)
class Curves:
    """Bus bandwidth in GB/s of every group that was measured, on one axis of message sizes."""

    groups: tuple[GroupView, ...]
    """The slowest first."""
    sizes: tuple[int, ...]
    """Message sizes in bytes, ascending."""
    limits: tuple[float, ...]
    most: float
    """Upper end of the vertical axis."""

    def line(self, group: GroupView) -> list[tuple[float, float]]:
        """Return a group's curve: place of the size on the axis, bandwidth."""
        place = {size: index for index, size in enumerate(self.sizes)}
        rows = group.bandwidth.results if group.bandwidth else ()
        return sorted((float(place[row.size_bytes]), row.bus) for row in rows)


def curves_of(run: RunView) -> Curves | None:
    """Gather the curves; None where no group has any."""
    found = [group for group in run.groups if group.bandwidth and group.bandwidth.results and not group.superseded]
    if not found:
        return None
    measured = sorted(found, key=lambda group: (_peak(group), group.key))
    rows = [one for group in measured if group.bandwidth for one in group.bandwidth.results]
    limits = bounds(run.spec, FIGURE)
    most = max([*(one.bus for one in rows), *limits]) * HEADROOM
    return Curves(tuple(measured), tuple(sorted({one.size_bytes for one in rows})), limits, most or 1.0)


def _peak(group: GroupView) -> float:
    return max((row.bus for row in group.bandwidth.results), default=0.0) if group.bandwidth else 0.0


def spread_of(curves: Curves) -> list[tuple[float, float, float, float, float]]:
    """Return lowest, 10 %, median, 90 % and highest value of each size."""
    by_size: dict[int, list[float]] = {size: [] for size in curves.sizes}
    for group in curves.groups:
        for one in group.bandwidth.results if group.bandwidth else ():
            by_size[one.size_bytes].append(one.bus)
    return [_quantiles(sorted(values)) for values in by_size.values()]


def _quantiles(ordered: Sequence[float]) -> tuple[float, float, float, float, float]:
    last = len(ordered) - 1
    return (ordered[0], ordered[round(last * 0.1)], ordered[round(last * 0.5)], ordered[round(last * 0.9)], ordered[-1])


def slowest_by_size(curves: Curves) -> Mapping[int, str]:
    """Name the group with the lowest value of each size."""
    lowest: dict[int, tuple[float, str]] = {}
    for group in curves.groups:
        for one in group.bandwidth.results if group.bandwidth else ():
            if one.size_bytes not in lowest or one.bus < lowest[one.size_bytes][0]:
                lowest[one.size_bytes] = (one.bus, group_name(group))
    return {size: name for size, (_, name) in lowest.items()}


def group_name(group: GroupView) -> str:
    """Name a group, with its iteration where that is not the first."""
    return group.label + (f", iteration {group.key.iteration}" if group.key.iteration > 1 else "")
