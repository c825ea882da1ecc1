"""One measured number, beside its reference and its target; knows nothing of how it was measured."""

from __future__ import annotations

import operator
from dataclasses import dataclass

_COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    name: str
    """What was measured: unique in its group, and the same in every run, so that runs can be compared."""
    value: float
    unit: str
    reference: str = ""
    """What it was measured against in the same run, with the value found there; empty: against nothing."""
    ratio: float | None = None
    """Value by reference: the median of the ratios of each round."""
    target: str = ""
    """What is asked for, as text; empty: only watched."""
    ok: bool | None = None
    """Whether the target is met; None without one."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked of a row: of its ratio if it says so, else of its value in the row's unit."""

    comparison: str
    """One of ``<=``, ``<`` and ``>=``."""
    limit: float
    of_ratio: bool = False

    def met(self, value: float, ratio: float | None) -> bool:
        """Whether a row's numbers meet it. Raises ValueError where a ratio is asked for and there is none."""
        measured = ratio if self.of_ratio else value
        if measured is None:
            raise ValueError("a target of a ratio needs a reference")
        return bool(_COMPARISONS[self.comparison](measured, self.limit))

    def text(self, unit: str) -> str:
        """Write it for people."""
        measured = "ratio" if self.of_ratio else "value"
        return f"{measured} {self.comparison} {self.limit:g}" + ("" if self.of_ratio else f" {unit}")


def ratio_at_most(limit: float) -> Target:
    """Ask for a ratio of at most so much."""
    return Target("<=", limit, of_ratio=True)


def ratio_at_least(limit: float) -> Target:
    """Ask for a ratio of at least so much."""
    return Target(">=", limit, of_ratio=True)


def below(limit: float) -> Target:
    """Ask for a value under a limit, in the row's unit."""
    return Target("<", limit)


def watched(name: str, value: float, unit: str, target: Target | None = None) -> Row:
    """Make a row of a number that has no reference."""
    return _row(name, value, unit, "", None, target)


def compared(
    name: str, value: float, unit: str, reference: str, other: float, ratio: float, target: Target | None = None
) -> Row:
    """Make a row of a number and a reference's: ``other`` is the reference's value in the same unit."""
    return _row(name, value, unit, f"{reference}: {other:.4g} {unit}", ratio, target)


def _row(name: str, value: float, unit: str, reference: str, ratio: float | None, target: Target | None) -> Row:
    if target is None:
        return Row(name, value, unit, reference, ratio)
    return Row(name, value, unit, reference, ratio, target.text(unit), target.met(value, ratio))
