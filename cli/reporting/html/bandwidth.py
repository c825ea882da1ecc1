"""Bandwidth by message size: all groups as a band, single groups as lines, the threshold drawn through them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cli.group_view import GroupView
from cli.reporting import wording
from cli.reporting.html import style
from cli.reporting.html.bounds import threshold
from cli.reporting.html.chart import (
    LEFT,
    Frame,
    base_line,
    legend,
    picture,
    size_text,
    swatch,
    value_axis,
)
from cli.reporting.html.curves import FIGURE, Curves, group_name, slowest_by_size, spread_of
from cli.reporting.html.markup import Markup, join, number, tag
from cli.reporting.html.table import number as number_cell
from cli.reporting.html.table import row, table
from cli.run_view import RunView

MOST_LINES = len(style.LINES)
MOST_CHARTS = 24
SPARK_WIDTH, SPARK_HEIGHT = 280, 60  # drawn at half that size


def bandwidth(run: RunView, curves: Curves) -> Markup:
    """Write the section: all groups in one chart and as a table, then the slowest ones in a chart each."""
    shown = curves.groups[:MOST_CHARTS]
    told = (
        "each group" if len(shown) == len(curves.groups) else f"the {len(shown)} worst of {len(curves.groups)} groups"
    )
    wanted = threshold(run.spec, FIGURE)
    required = f"Required of the largest value of each group: {wanted}." if wanted else "No threshold was set."
    undrawn = " It has no plain bound that could be drawn." if wanted and not curves.limits else ""
    return join(
        tag("p", f"Bus bandwidth, out of place, as the test prints it. {required}{undrawn}"),
        _overview(curves),
        _table(curves),
        tag("h3", f"Bandwidth of {told}"),
        tag("div", [_single(group, curves) for group in shown], class_="charts"),
    )


def sparkline(group: GroupView, curves: Curves) -> Markup | None:
    """Draw a group's curve small, for a row of a table; None where it has none."""
    points = curves.line(group)
    if not points:
        return None
    across = SPARK_WIDTH / max(1, len(curves.sizes) - 1)
    line = " ".join(f"{x * across:.0f},{_spark_y(y, curves):.0f}" for x, y in points)
    limits = "".join(f'<path class="t" d="M0 {_spark_y(one, curves):.0f}h{SPARK_WIDTH}"/>' for one in curves.limits)
    largest = max(y for _, y in points)
    label = f"bandwidth rises to {largest:.4g} GB/s"
    return Markup(
        f'<svg class="spark" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" width="140" height="30" role="img" '
        f'aria-label="{label}">{limits}<polyline class="l" points="{line}"/></svg>'
    )


def _spark_y(value: float, curves: Curves) -> float:
    return SPARK_HEIGHT - SPARK_HEIGHT * value / curves.most


def _overview(curves: Curves) -> Markup:
    frame = Frame(1000, 340, len(curves.sizes) - 1, curves.most, right=120)
    spread = spread_of(curves)
    places = range(len(curves.sizes))
    outer = [(float(x), spread[x][0]) for x in places] + [(float(x), spread[x][4]) for x in reversed(places)]
    inner = [(float(x), spread[x][1]) for x in places] + [(float(x), spread[x][3]) for x in reversed(places)]
    lines = curves.groups[:MOST_LINES]
    many = len(curves.groups) > 1
    content = [
        tag("polyline", class_="band", points=frame.points(outer)) if many else None,
        tag("polyline", class_="inner", points=frame.points(inner)) if many else None,
        value_axis(frame, "GB/s"),
        base_line(frame, _size_ticks(curves.sizes)),
        tag("polyline", class_="median", points=frame.points([(float(x), spread[x][2]) for x in places])),
        [_line(frame, group, curves, colour) for group, colour in zip(lines, style.LINES, strict=False)],
        _limits(frame, curves),
    ]
    named = [
        (_stroke(colour), f"{group_name(group)} ({wording.span(group.nodes)})")
        for group, colour in zip(lines, style.LINES, strict=False)
    ]
    bands = [
        (swatch("band"), "lowest to highest"),
        (swatch("inner"), "middle 80 %"),
        (_stroke("#2a6f97"), "median of all groups"),
    ]
    label = f"Bus bandwidth by message size of {len(curves.groups)} groups; the table below has the numbers"
    caption = tag("figcaption", "All groups by message size; single lines are the slowest groups.")
    return tag("figure", caption, legend([*(bands if many else []), *named]), picture(frame, label, content))


def _line(frame: Frame, group: GroupView, curves: Curves, colour: str) -> Markup:
    points = curves.line(group)
    return tag("polyline", class_="one", stroke=colour, points=frame.points(points))


def _limits(frame: Frame, curves: Curves) -> list[Markup]:
    end = frame.width - frame.right
    return [
        join(
            tag("path", class_="t", d=f"M{LEFT} {number(frame.y(limit))}H{end}"),
            tag("text", f"threshold {limit:g}", x=end + 6, y=frame.y(limit) + 4, fill=style.FAILED),
        )
        for limit in curves.limits
    ]


def _size_ticks(sizes: Sequence[int], most: int = 9) -> list[tuple[float, str]]:
    step = math.ceil(len(sizes) / most)
    return [(float(index), size_text(sizes[index])) for index in range(0, len(sizes), step)]


def _stroke(colour: str) -> Markup:
    line = tag("path", d="M0 7h18", stroke=colour, stroke_width=3)
    return tag("svg", line, width=18, height=14, aria_hidden="true")


def _single(group: GroupView, curves: Curves) -> Markup:
    frame = Frame(340, 190, len(curves.sizes) - 1, curves.most)
    limits = [
        tag("path", class_="t", d=f"M{LEFT} {number(frame.y(limit))}H{frame.width - frame.right}")
        for limit in curves.limits
    ]
    colour = style.FAILED if group.state in ("Failed", "ValidationFailed") else style.LINES[3]
    content = [
        value_axis(frame, "GB/s"),
        base_line(frame, _size_ticks(curves.sizes, most=4)),
        _line(frame, group, curves, colour),
        limits,
    ]
    peak = group.figures.get(FIGURE)
    figure = f"{peak:.4g} GB/s" if peak is not None else "not final"
    words = f"{group_name(group)}: {group.state}, {figure}"
    return tag("figure", tag("figcaption", words, tag("br"), wording.span(group.nodes)), picture(frame, words, content))


def _table(curves: Curves) -> Markup:
    slowest = slowest_by_size(curves)
    rows = [
        row(size_text(size), [number_cell(f"{value:.2f}") for value in values], tag("td", slowest.get(size, "")))
        for size, values in zip(curves.sizes, spread_of(curves), strict=True)
    ]
    numbers = [(word, "num") for word in ("lowest", "10 %", "median", "90 %", "highest")]
    written = table(["message size", *numbers, "lowest in"], rows, "Bus bandwidth in GB/s")
    return tag("details", tag("summary", "The chart as a table"), written)
