"""The measured rows as text or JSON; decides nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence

from .machine import Machine
from .row import Row

Measured = Mapping[str, Sequence[Row]]
"""Rows by group."""

_HEADER = ("what", "value", "reference, same run", "ratio", "target", "met")


def text(machine: Machine, measured: Measured) -> str:
    """Write one table with a line a row, below the machine and the moment."""
    lines = [_HEADER, *(cells(row, group) for group, rows in measured.items() for row in rows)]
    return f"{machine}\n\n{aligned(lines)}"


def cells(row: Row, group: str) -> tuple[str, ...]:
    """Return the cells of a row."""
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    met = {None: "", True: "yes", False: "NO"}[row.ok]
    return (f"{group}: {row.name}", f"{row.value:.4g} {row.unit}", row.reference, ratio, row.target, met)


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align cells by column, as a Markdown table: it is read in a terminal and pasted into documents."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(line, widths) for line in (lines[0], rule, *lines[1:]))


def _line(line: Iterable[str], widths: Iterable[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"


def document(machine: Machine, measured: Measured) -> dict[str, object]:
    """Return the run as JSON writes it."""
    groups = {group: [dataclasses.asdict(row) for row in rows] for group, rows in measured.items()}
    return {**dataclasses.asdict(machine), "groups": groups}


def as_json(machine: Machine, measured: Measured) -> str:
    """Write the run as one JSON document."""
    return json.dumps(document(machine, measured), indent=2)
