"""How a Workflow ends: conditions, coverage and what was not measured, from the results of all iterations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sync_hooks.api.conditions import FAILED, SUCCEEDED, VALIDATION_FAILED, set_condition, set_exclusive
from sync_hooks.api.errors import cut
from sync_hooks.api.model import Condition
from sync_hooks.api.results import Coverage
from sync_hooks.execution.answers import first
from sync_hooks.execution.ranges import write_ranges
from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.iteration import RANKS_APART, GroupResult, IterationResult
from sync_hooks.report.nodes import GONE, BlamedNode, NodeVerdicts, planned_nodes, ran_on

MOST_NAMED = 10  # groups named in a message, unmeasured groups in the status
MOST_TOLD = 3000  # characters of what is said of one of them: a condition's message has room for all

VALIDATION_ORDER = (  # the first reason found names the condition
    RANKS_APART,
    "WrongResults",
    "SocketFallback",
    "ThresholdViolated",
    "InvalidThresholdExpression",
    "UnknownThresholdKey",
    "MeasurementIncomplete",
    "MeasurementTimeout",
)


def conclude(
    old: Sequence[Condition], plan: Plan, results: Sequence[IterationResult], verdicts: NodeVerdicts, now: datetime
) -> tuple[Condition, ...]:
    """Return the final conditions: Failed where a workload failed, else Succeeded; ValidationFailed beside either."""
    failures = [
        (result.iteration, outcome, outcome.failure)
        for result in results
        for outcome in result.groups
        if outcome.failure and outcome.failure_reason not in GONE
    ]
    failures += _of_earlier_tries(results, verdicts)
    violations = [(result.iteration, outcome) for result in results for outcome in result.groups if outcome.validation]
    conditions = _ended(old, plan, failures, coverage_of(plan, verdicts), now)
    if violations:
        reasons = {outcome.validation_reason for _, outcome in violations}
        reason = next((known for known in VALIDATION_ORDER if known in reasons), min(reasons))
        text = _listed([(iteration, group, group.validation) for iteration, group in violations], plan)
        conditions = set_condition(conditions, VALIDATION_FAILED, "True", reason, text, now)
    return conditions


def _of_earlier_tries(results: Sequence[IterationResult], verdicts: NodeVerdicts) -> list[tuple[int, GroupResult, str]]:
    """Name failures of earlier tries that blame a node which no later try judged."""
    standing = frozenset(verdicts.failed)
    return [
        (result.iteration, outcome, f"node {node.name} failed in an earlier try: {node.message}")
        for result in results
        for outcome in result.groups
        for node in outcome.earlier
        if BlamedNode(node.name, node.reason, node.message) in standing
    ]


def _ended(
    old: Sequence[Condition],
    plan: Plan,
    failures: Sequence[tuple[int, GroupResult, str]],
    coverage: Coverage,
    now: datetime,
) -> tuple[Condition, ...]:
    if failures:
        reason = "JobHardwareFailed" if any(group.hardware for _, group, _ in failures) else "IterationsFailed"
        text = _listed(failures, plan)
        return set_exclusive(old, FAILED, reason, text, now)
    untested = coverage.targeted - coverage.tested
    times = f" {plan.iterations} times" if plan.iterations > 1 else ""
    runs = f"{len(plan.groups)} groups ran{times}"
    if untested:
        text = f"{runs}; {untested} of {coverage.targeted} targeted nodes were not tested"
        return set_exclusive(old, SUCCEEDED, "PartialCoverage", text, now)
    return set_exclusive(old, SUCCEEDED, "JobCompleted", f"{runs} on all {coverage.targeted} targeted nodes", now)


def _listed(found: Sequence[tuple[int, GroupResult, str]], plan: Plan) -> str:
    named = (_named(iteration, [outcome.group], text, plan) for iteration, outcome, text in found)
    return "; ".join(first(named, MOST_NAMED))


def _named(iteration: int, groups: Sequence[int], text: str, plan: Plan) -> str:
    ranges = first(write_ranges(groups).split(","), MOST_NAMED)
    who = f"group{'s' if len(groups) > 1 else ''} {', '.join(ranges)}"
    return who + (f" in iteration {iteration}" if plan.iterations > 1 else "") + f": {cut(text, MOST_TOLD)}"


def coverage_of(plan: Plan, verdicts: NodeVerdicts) -> Coverage:
    """Count the nodes that were planned for by what became of them: each is counted once."""
    known = planned_nodes(plan).union(name for name, _ in plan.exclusions)
    return Coverage(
        targeted=plan.targeted,
        tested=len(verdicts.succeeded) + sum(node.name in known for node in verdicts.failed),
        excluded=len(left_out(plan, verdicts)),
        inconclusive=len(verdicts.inconclusive),
    )


def left_out(plan: Plan, verdicts: NodeVerdicts) -> dict[str, str]:
    """Tell why nodes were not tested: left out by the plan, or gone while the run was under way.

    A cordon that was lifted may have let the scheduler choose a node after all: then it counts by what it showed.
    """
    judged = {node.name for node in verdicts.failed}
    planned = {name: reason for name, reason in plan.exclusions if name not in judged}
    return {**planned, **{node.name: node.message for node in verdicts.excluded}}


def unmeasured_of(results: Sequence[IterationResult]) -> list[str]:
    """Name the requested measurements that brought no data or only a part of it, group by group."""
    texts = [
        f"group {outcome.group} in iteration {result.iteration}: {text}"
        for result in results
        for outcome in result.groups
        for text in outcome.unmeasured
    ]
    return first(texts, MOST_NAMED)


def remarks_of(plan: Plan, results: Sequence[IterationResult]) -> list[str]:
    """Say what is worth knowing of groups that ended well: what was remarked, and that it took another try.

    What is true of many groups is one remark, so that it hides none that is true of a few.
    """
    found: dict[tuple[int, str], list[int]] = {}
    for result in results:
        for outcome in result.groups:
            if not outcome.failure and not outcome.validation:
                unused = _unused(plan.groups[outcome.group], outcome)
                for text in dict.fromkeys((*unused, *_tried_again(outcome), *outcome.remarks)):
                    found.setdefault((result.iteration, text), []).append(outcome.group)
    return first([_named(iteration, groups, text, plan) for (iteration, text), groups in found.items()], MOST_NAMED)


def _unused(group: Group, outcome: GroupResult) -> tuple[str, ...]:
    ran = frozenset(ran_on(group, outcome))
    idle = [node for node in group.nodes if node not in ran]
    return (f"no worker ran on {', '.join(first(idle, MOST_NAMED))}",) if idle else ()


def _tried_again(outcome: GroupResult) -> tuple[str, ...]:
    return (f"failed and passed only when tried again, on retry {outcome.retry}",) if outcome.retry else ()
