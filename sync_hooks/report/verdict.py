"""The verdict: Passed only where everything that was asked for was run, measured and found good.

Checks are tried in order, the first kind that finds a reason gives the verdict; a run under way has none. Remarks stand
among the reasons and never change the verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sync_hooks.api.conditions import FAILED, SUCCEEDED, VALIDATION_FAILED, is_true
from sync_hooks.api.workflow import WorkflowStatus

PASSED = "Passed"
INCOMPLETE = "Incomplete"
VERDICT_FAILED = "Failed"

MOST_REASONS = 20  # a verdict is read by people; the lists of nodes hold the rest


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict and everything that speaks for it, most important first."""

    verdict: str
    reasons: tuple[str, ...] = ()


def judge(status: WorkflowStatus) -> Verdict | None:
    """Judge an ended Workflow; None while it is under way."""
    if not is_true(status.conditions or (), SUCCEEDED, FAILED):
        return None
    found = [(verdict, reason) for verdict, check in CHECKS for reason in check(status)]
    remarks = tuple(status.remarks or ())
    if not found:
        return Verdict(PASSED, remarks)
    worst = VERDICT_FAILED if any(verdict == VERDICT_FAILED for verdict, _ in found) else INCOMPLETE
    return Verdict(worst, (*(reason for _, reason in found), *remarks))


def _failures(status: WorkflowStatus) -> list[str]:
    return [
        f"{condition.reason}: {condition.message}"
        for condition in status.conditions or ()
        if condition.type in (FAILED, VALIDATION_FAILED) and condition.status == "True"
    ]


def _no_coverage(status: WorkflowStatus) -> list[str]:
    return [] if status.coverage else ["it is not known which nodes were tested"]


def _excluded(status: WorkflowStatus) -> list[str]:
    named = [f"node {node.name} excluded: {node.reason}" for node in status.excluded_nodes or ()]
    rest = (status.coverage.excluded if status.coverage else 0) - len(named)
    return [*named, f"and {rest} more nodes excluded"] if rest > 0 else named


def _untested(status: WorkflowStatus) -> list[str]:
    coverage = status.coverage
    untested = coverage.targeted - coverage.tested - coverage.excluded if coverage else 0
    return [f"{untested} of {coverage.targeted} targeted nodes have no verdict of their own"] if untested > 0 else []  # type: ignore[union-attr]


def _unmeasured(status: WorkflowStatus) -> list[str]:
    return list(status.unmeasured or ())


CHECKS: tuple[tuple[str, Callable[[WorkflowStatus], list[str]]], ...] = (
    (VERDICT_FAILED, _failures),
    (INCOMPLETE, _no_coverage),
    (INCOMPLETE, _excluded),
    (INCOMPLETE, _untested),
    (INCOMPLETE, _unmeasured),
)
