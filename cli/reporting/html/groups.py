"""Every group as a row, the worst first; beyond the first hundred in parts that are opened when wanted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cli.group_view import GroupView, worst_first
from cli.reporting import wording
from cli.reporting.html.bandwidth import sparkline
from cli.reporting.html.curves import Curves
from cli.reporting.html.markup import Markup, join, tag
from cli.reporting.html.table import Heading, number, row, table
from cli.run_view import FIGURES, RunView

ROWS = 100  # of one table: more would make the page slow to scroll and a print endless


def groups(run: RunView, curves: Curves | None, now: datetime) -> Markup:
    """Write the tables of all groups."""
    ordered = worst_first(run.groups, run.figure)
    figures = [key for key in FIGURES if any(key in group.figures for group in ordered)]
    parts = [ordered[start : start + ROWS] for start in range(0, len(ordered), ROWS)]
    tables = [_table(run, part, figures, curves, now) for part in parts]
    rest = [
        tag("details", tag("summary", f"{len(part)} more, from {_place(part[0])} on"), table)
        for part, table in zip(parts[1:], tables[1:], strict=True)
    ]
    told = f"{len(ordered)} groups, failed ones first, then by {wording.LABELS.get(run.figure, 'number')}."
    return join(tag("p", told), tables[:1], rest)


def _place(group: GroupView) -> str:
    value = ", ".join(
        f"{wording.figure(group, key)} {wording.LABELS[key]}" for key in FIGURES[:1] if key in group.figures
    )
    return group.label + (f" ({value})" if value else "")


def _table(
    run: RunView, shown: Sequence[GroupView], figures: Sequence[str], curves: Curves | None, now: datetime
) -> Markup:
    several = run.iterations > 1
    headings: list[Heading] = [
        "group",
        *([("iteration", "num")] if several else []),
        "nodes",
        "state",
        *((wording.LABELS[key], "num") for key in figures),
        ("time", "num"),
        *(["by message size"] if curves else []),
    ]
    rows = [_row(group, figures, curves, now, several=several) for group in shown]
    return table(headings, rows)


def _row(group: GroupView, figures: Sequence[str], curves: Curves | None, now: datetime, *, several: bool) -> Markup:
    seconds = wording.seconds_of(group, now)
    time = wording.span_of_time(seconds) if seconds is not None else "-"
    return row(
        group.label,
        number(str(group.key.iteration)) if several else None,
        tag("td", wording.span(group.nodes), _domains(group), class_="names"),
        tag("td", _state(group), class_="why"),
        [number(wording.figure(group, key)) for key in figures],
        number(time),
        tag("td", sparkline(group, curves)) if curves else None,
    )


def _domains(group: GroupView) -> Markup | None:
    if not group.domains:
        return None
    return join(tag("br"), tag("span", ", ".join(group.domains), class_="quiet"))


def _state(group: GroupView) -> Markup:
    replaced = " (a retry counts instead)" if group.superseded else ""
    why = f"{group.reason}: {group.detail}" if group.reason and group.detail else group.detail
    blamed = f"blamed: {wording.names(group.blamed)}" if group.blamed else ""
    missing = "; ".join(f"not measured: {text}" for text in group.unmeasured)
    told = [tag("div", line, class_="quiet") for line in (why, blamed, missing) if line]
    return join(tag("span", group.state, class_=f"s-{group.state}"), replaced, told)
