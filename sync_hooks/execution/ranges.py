"""Sets of group numbers as text, so that a status stays small: ``0-99,101``."""

from __future__ import annotations

from collections.abc import Iterable


def write_ranges(numbers: Iterable[int]) -> str:
    """Write numbers as ascending ranges."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def read_ranges(text: str | None) -> frozenset[int]:
    """Read ranges back; parts that are none are skipped."""
    numbers: set[int] = set()
    for part in (text or "").split(","):
        low, dash, high = part.partition("-")
        if low.isdigit() and (high.isdigit() or not dash):
            numbers.update(range(int(low), int(high if dash else low) + 1))
    return frozenset(numbers)
