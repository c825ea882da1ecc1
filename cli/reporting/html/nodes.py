"""Nodes that are not known to be fit, the worst first, each with its reason; then the names of those that are."""

from __future__ import annotations

from collections.abc import Sequence

from cli.node_view import FAILED, NODE_ORDER, SUCCEEDED, NodeView
from cli.reporting import wording
from cli.reporting.html.markup import Markup, join, tag
from cli.reporting.html.table import number, row, table
from cli.run_view import RunView

ROWS = 100


def nodes(run: RunView) -> Markup:
    """Write the section."""
    bad = sorted(
        (one for one in run.nodes if one.state != SUCCEEDED), key=lambda one: (NODE_ORDER[one.state], one.name)
    )
    good = [one.name for one in run.nodes if one.state == SUCCEEDED]
    parts = [bad[start : start + ROWS] for start in range(0, len(bad), ROWS)]
    tables = [_table(run, part) for part in parts]
    return join(
        None if bad else tag("p", "Every targeted node passed." if good else "Nothing is known of any node yet."),
        tables[:1],
        [
            tag("details", tag("summary", f"{len(part)} more, from {part[0].name} on"), table)
            for part, table in zip(parts[1:], tables[1:], strict=True)
        ],
        _names([one.name for one in bad if one.state == FAILED], "Names of the failed nodes, for kubectl cordon", " "),
        _names(good, f"Names of the {len(good)} nodes that passed", ", "),
    )


def _table(run: RunView, shown: Sequence[NodeView]) -> Markup:
    figure = run.figure
    headings = ("node", "state", "why", "domain", "groups", *(((wording.LABELS[figure], "num"),) if figure else ()))
    rows = [
        row(
            node.name,
            tag("td", tag("span", node.state, class_=f"s-{node.state}")),
            tag("td", f"{node.reason}: {node.message}" if node.reason else node.message, class_="why"),
            tag("td", node.domain or "-"),
            tag("td", ", ".join(map(str, node.groups)) or "-"),
            number(f"{node.figures[figure]:.4g}" if figure in node.figures else "-") if figure else None,
        )
        for node in shown
    ]
    return table(headings, rows)


def _names(names: Sequence[str], title: str, separator: str) -> Markup | None:
    if not names:
        return None
    return tag("details", tag("summary", title), tag("pre", separator.join(names), tabindex="0"))
