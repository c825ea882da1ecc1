"""Figures over groups: smallest, median, largest, and the group with the worst value.

Refuses figures of workloads that failed, which stand for as much of a test as had run until then, and of those that ran
another test than the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.results import Distribution, OutlierGroup, Results, WorstGroup
from sync_hooks.planning.plan import Plan
from sync_hooks.report.figures import FIGURES, Figures, Values, figures_of, median_of
from sync_hooks.report.iteration import IterationResult
from sync_hooks.report.outliers import outliers

SMALLER_IS_BETTER = frozenset({"avgStepTimeSec"})
MOST_NODES = 32  # of the worst group; the plan has them all
MOST_OUTLIERS = 10  # of a figure, with few of their nodes: a status stays small
MOST_OUTLIER_NODES = 8


def results_of(plan: Plan, results: Sequence[IterationResult]) -> Results | None:
    """Summarise every figure that was measured by a workload that succeeded; None where nothing was."""
    return summary(plan, [figures_of(results)], results)


def summary(plan: Plan, parts: Sequence[Figures], results: Sequence[IterationResult]) -> Results | None:
    """Summarise the figures of several parts together; None where they have none.

    ``results`` tell, of a plan that leaves the nodes to the scheduler, which ones it chose, the last ones last.
    """
    found = {figure: [part[figure] for part in parts if figure in part] for figure in FIGURES}
    measured = {figure: _distribution(plan, known, figure, results) for figure, known in found.items() if known}
    return Results.model_validate(measured) if measured else None


def _distribution(plan: Plan, parts: Sequence[Values], figure: str, results: Sequence[IterationResult]) -> Distribution:
    low, high = min(part.pair(0) for part in parts), max(part.pair(-1) for part in parts)
    worst = high if figure in SMALLER_IS_BETTER else low
    return Distribution(
        min=low[0],
        median=round(median_of([(range(len(part.values)), part.values.__getitem__) for part in parts]), 6),
        max=high[0],
        worst=WorstGroup(group=worst[1], nodes=_nodes(plan, results, worst[1])[:MOST_NODES]),
        outliers=[
            OutlierGroup(group=group, value=value, nodes=_nodes(plan, results, group)[:MOST_OUTLIER_NODES])
            for value, group in outliers(parts, MOST_OUTLIERS)
        ]
        or None,
    )


def _nodes(plan: Plan, results: Sequence[IterationResult], number: int) -> list[str]:
    """Return the nodes of a group; where the scheduler chose them, those that it chose last."""
    if plan.groups[number].nodes:
        return list(plan.groups[number].nodes)
    chosen = [outcome.nodes for result in results for outcome in result.groups if outcome.group == number]
    return list(chosen[-1] if chosen else ())
