"""Every node as a cell, by topology domain: its verdict by mark and colour, its figure by class of a scale."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.node_view import EXCLUDED, FAILED, INCONCLUSIVE, PENDING, RUNNING, SUCCEEDED, UNKNOWN, NodeView
from cli.reporting import wording
from cli.reporting.html import style
from cli.reporting.html.chart import legend, swatch
from cli.reporting.html.markup import Markup, join, tag, text
from cli.reporting.html.table import Heading, number, row, table
from cli.run_view import RunView
from sync_hooks.report.distribution import SMALLER_IS_BETTER

COLUMNS, COLUMNS_OF_ALL = 18, 60  # a rack of 18 trays is one row
CELL = 18  # pixels from one cell to the next
MANY, SMALLER = 600, 0.5  # nodes beyond which cells are drawn at half their size, so that all can be seen at once
UNIFORM = 0.1  # a spread below this share of the best value is shown as alike: it is noise
STATES = (
    (FAILED, "failed"),
    (INCONCLUSIVE, "ran, no verdict of its own"),
    (UNKNOWN, "verdict could not be read"),
    (EXCLUDED, "excluded"),
    (RUNNING, "running"),
    (PENDING, "pending"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Classes of a figure: 0 is the worst. Without a figure every node that passed looks alike."""

    figure: str
    worst: float = 0.0
    best: float = 0.0

    def class_of(self, node: NodeView) -> str:
        """Return the class of a node that passed."""
        value = node.figures.get(self.figure)
        if value is None or self.worst == self.best:
            return f"c{len(style.SCALE) - 1}" if value is not None else "n-succeeded"
        share = (value - self.worst) / (self.best - self.worst)
        return f"c{min(len(style.SCALE) - 1, max(0, int(share * len(style.SCALE))))}"

    def ranges(self) -> Iterator[tuple[str, str]]:
        """Yield each class with the values that it stands for."""
        step = (self.best - self.worst) / len(style.SCALE)
        for index in range(len(style.SCALE)):
            yield f"c{index}", f"{self.worst + step * index:.3g} to {self.worst + step * (index + 1):.3g}"


def heat_map(run: RunView) -> Markup:
    """Draw the nodes, domain by domain, those with the most bad nodes first, and list the domains as a table."""
    scale = _scale(run)
    domains = _domains(run.nodes)
    named = any(name for name, _ in domains)
    label = f"by {run.domain_key}" if run.domain_key and named else "in order of their names: no topology is known"
    caption = tag("figcaption", f"{len(run.nodes)} targeted nodes {label}. Point at a cell for its name and figure.")
    size = SMALLER if len(run.nodes) > MANY else 1.0
    columns = COLUMNS if named else int(COLUMNS_OF_ALL / size)
    drawn = [_domain(name, nodes, scale, columns=columns, size=size) for name, nodes in domains]
    return join(
        _HATCH,
        tag("figure", caption, _legend(run, scale), tag("div", drawn, class_="domains")),
        _table(domains, scale.figure) if named else None,
    )


_HATCH = tag(
    "svg",
    tag(
        "pattern",
        tag("rect", width=5, height=5, fill=style.PAPER),
        tag("path", d="M0 5L5 0", stroke=style.EXCLUDED, stroke_width=1.4),
        id="hatch",
        width=5,
        height=5,
        patternUnits="userSpaceOnUse",
    ),
    class_="hide",
    aria_hidden="true",
)


def _scale(run: RunView) -> Scale:
    figure = run.figure
    values = [node.figures[figure] for node in run.nodes if node.state == SUCCEEDED and figure in node.figures]
    if not values:
        return Scale(figure)
    low, high = min(values), max(values)
    if figure in SMALLER_IS_BETTER:
        return Scale(figure, worst=max(high, low * (1 + UNIFORM)), best=low)
    return Scale(figure, worst=min(low, high * (1 - UNIFORM)), best=high)


def _domains(nodes: Sequence[NodeView]) -> list[tuple[str, list[NodeView]]]:
    by_domain: dict[str, list[NodeView]] = {}
    for node in nodes:
        by_domain.setdefault(node.domain, []).append(node)
    return sorted(by_domain.items(), key=lambda item: (-sum(map(_bad, item[1])), item[0] == "", _natural(item[0])))


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort rack-2 before rack-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _bad(node: NodeView) -> bool:
    return node.state in (FAILED, INCONCLUSIVE, EXCLUDED)


def _domain(name: str, nodes: Sequence[NodeView], scale: Scale, *, columns: int, size: float) -> Markup:
    across = min(columns, len(nodes))
    down = -(-len(nodes) // columns)
    cells = [_cell(node, index % columns * CELL, index // columns * CELL, scale) for index, node in enumerate(nodes)]
    picture = tag(
        "svg",
        cells,
        viewBox=f"-1 -1 {across * CELL} {down * CELL}",
        width=across * CELL * size,
        height=down * CELL * size,
        class_="cells",
        role="img",
        aria_label=f"{name or 'nodes'}: {_counted(nodes)}",
    )
    return tag("figure", tag("figcaption", name or "no domain known"), picture, class_="domain")


def _cell(node: NodeView, x: int, y: int, scale: Scale) -> Markup:
    class_ = scale.class_of(node) if node.state == SUCCEEDED else f"n-{node.state}"
    value = node.figures.get(scale.figure)
    figure = f", {value:.4g}" if value is not None else ""
    groups = f", group {', '.join(map(str, node.groups))}" if node.groups else ""
    state = "" if node.state == SUCCEEDED else f", {node.state}"
    title = text(f"{node.name}{state}{figure}{groups}")
    mark = f'<path class="mark" d="M{x + 4} {y + 4}l7 7m0-7l-7 7"/>' if node.state == FAILED else ""
    return Markup(f'<rect class="{class_}" x="{x}" y="{y}"><title>{title}</title></rect>{mark}')


def _counted(nodes: Sequence[NodeView]) -> str:
    counts = {state: sum(node.state == state for node in nodes) for state in (*(s for s, _ in STATES), SUCCEEDED)}
    bad = [node.name for node in nodes if node.state == FAILED]
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{len(nodes)} nodes, {told}" + (f" ({wording.names(bad)})" if bad else "")


def _legend(run: RunView, scale: Scale) -> Markup:
    present = {node.state for node in run.nodes}
    entries = [(_sample(state), word) for state, word in STATES if state in present]
    passed = [node for node in run.nodes if node.state == SUCCEEDED]
    if any(scale.figure in node.figures for node in passed):
        (class_, values), *rest = scale.ranges()
        entries.append((swatch(class_), f"passed, with {wording.LABELS[scale.figure]}: {values}"))
        entries += [(swatch(class_), values) for class_, values in rest]
    elif passed:
        entries.append((swatch("n-succeeded"), "passed"))
    return legend(entries)


def _sample(state: str) -> Markup:
    mark = tag("path", class_="mark", d="M4 4l7 7m0-7l-7 7") if state == FAILED else None
    box = tag("rect", class_=f"n-{state}", x=1, y=1, width=13, height=13)
    return tag("svg", box, mark, width=15, height=15, aria_hidden="true")


def _table(domains: Sequence[tuple[str, Sequence[NodeView]]], figure: str) -> Markup:
    counted = [(word, "num") for word in ("nodes", "failed", "inconclusive", "excluded")]
    rows = []
    for name, nodes in domains:
        counts = [sum(node.state == state for node in nodes) for state in (FAILED, INCONCLUSIVE, EXCLUDED)]
        values = [node.figures[figure] for node in nodes if figure in node.figures]
        spread = f"{min(values):.4g} to {max(values):.4g}" if values else "-"
        numbers = [number(str(count)) for count in (len(nodes), *counts)]
        rows.append(row(name or "not known", numbers, number(spread)))
    headings: list[Heading] = ["domain", *counted, (wording.LABELS.get(figure, "figure"), "num")]
    written = table(headings, rows, "The same by numbers, a row a domain")
    return tag("details", tag("summary", f"{len(domains)} domains as a table"), written)
