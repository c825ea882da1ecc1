"""Figures over groups: smallest, median, largest, and the group with the worst value.

Refuses figures of workloads that failed, which stand for as much of a test as had run until then, and of those that ran
another test than the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from sync_hooks.api.results import Distribution, OutlierGroup, Results, WorstGroup
from sync_hooks.planning.plan import Plan
from sync_hooks.report.iteration import RANKS_APART, IterationResult
from sync_hooks.report.outliers import outliers

FIGURES = ("busBandwidthGBps", "algBandwidthGBps", "goodputRatio", "avgTFLOPsPerGPU", "avgStepTimeSec")
SMALLER_IS_BETTER = frozenset({"avgStepTimeSec"})
MOST_NODES = 32  # of the worst group; the plan has them all
MOST_OUTLIERS = 10  # of a figure, with few of their nodes: a status stays small
MOST_OUTLIER_NODES = 8


def results_of(plan: Plan, results: Sequence[IterationResult]) -> Results | None:
    """Summarise every figure that was measured by a workload that succeeded; None where nothing was."""
    found = {figure: _distribution(plan, results, figure) for figure in FIGURES}
    measured = {figure: value for figure, value in found.items() if value is not None}
    return Results.model_validate(measured) if measured else None


def _distribution(plan: Plan, results: Sequence[IterationResult], figure: str) -> Distribution | None:
    values = [
        (outcome.figures[figure], outcome.group)
        for result in results
        for outcome in result.groups
        if figure in outcome.figures and not outcome.failure and outcome.validation_reason != RANKS_APART
    ]
    if not values:
        return None
    low, high = min(values), max(values)
    worst = high if figure in SMALLER_IS_BETTER else low
    return Distribution(
        min=low[0],
        median=round(median(value for value, _ in values), 6),
        max=high[0],
        worst=WorstGroup(group=worst[1], nodes=_nodes(plan, results, worst[1])[:MOST_NODES]),
        outliers=[
            OutlierGroup(group=group, value=value, nodes=_nodes(plan, results, group)[:MOST_OUTLIER_NODES])
            for value, group in outliers(values)[:MOST_OUTLIERS]
        ]
        or None,
    )


def _nodes(plan: Plan, results: Sequence[IterationResult], number: int) -> list[str]:
    """Return the nodes of a group; where the scheduler chose them, those that it chose last."""
    chosen = [outcome.nodes for result in results for outcome in result.groups if outcome.group == number]
    return list(plan.groups[number].nodes or (chosen[-1] if chosen else ()))
