"""Figures over groups are those of tests that ran to their end."""

from __future__ import annotations

from random import Random

from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.distribution import results_of, summary
from sync_hooks.report.figures import figures_of, together
from sync_hooks.report.iteration import RANKS_APART, GroupResult, IterationResult

PLAN = Plan(groups=tuple(Group(nodes=(f"n{number}",)) for number in range(8)), targeted=8)


def group(number: int, value: float, **more: str) -> GroupResult:
    return GroupResult(group=number, figures={"busBandwidthGBps": value}, **more)  # type: ignore[arg-type]


def test_figures_of_failed_workloads_are_in_no_part_of_the_results():
    good = tuple(group(number, 400.0 + number) for number in range(5))
    bad = (group(5, 3.0, failure="it crashed"), group(6, 9000.0, failure="it crashed"))
    apart = (group(7, 455.0, validation="8 ranks", validation_reason=RANKS_APART),)
    assert results_of(PLAN, [IterationResult(1, (*good, *bad, *apart))]) == results_of(PLAN, [IterationResult(1, good)])


def test_a_figure_that_violates_a_threshold_is_the_worst_of_all():
    low = group(1, 20.0, validation="too slow", validation_reason="ThresholdViolated")
    found = results_of(PLAN, [IterationResult(1, (group(0, 400.0), low))])
    assert found is not None
    assert found.bus_bandwidth_g_bps is not None
    assert (found.bus_bandwidth_g_bps.min, found.bus_bandwidth_g_bps.worst.group) == (20.0, 1)


def test_where_every_workload_failed_there_are_no_results():
    assert results_of(PLAN, [IterationResult(1, (group(0, 3.0, failure="it crashed"),))]) is None


def test_iterations_that_are_taken_together_one_by_one_have_the_results_that_they_have_at_once():
    chance, results = Random(1), []
    for number in range(1, 8):
        good = [group(one, chance.choice([400.0, 401.5, chance.uniform(300, 500)])) for one in range(7)]
        results.append(IterationResult(number, (*good, group(7, 3.0, failure="it crashed"))))
        *before, current = results
        finished = figures_of([])
        for result in before:
            finished = together(finished, figures_of([result]))
        assert summary(PLAN, [finished, figures_of([current])], ()) == results_of(PLAN, results)
