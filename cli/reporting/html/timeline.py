"""When groups ran: how many at once over the whole run, and bars of those that failed or took longest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cli.group_view import ORDER, GroupView
from cli.reporting import wording
from cli.reporting.html.chart import Frame, base_line, legend, picture, swatch, ticks_to, value_axis
from cli.reporting.html.markup import Markup, join, tag
from cli.run_view import RunView
from sync_hooks.api.time import parse_rfc3339

MOST_BARS = 40
LABEL_WIDTH, BAR_WIDTH, BAR_HEIGHT = 150, 740, 18
STEPS = 240  # places at which the number of groups is counted


@dataclass(frozen=True, slots=True)
class Ran:
    """A group and when it ran, in seconds from the start of the first one."""

    group: GroupView
    started: float
    ended: float


def timeline(run: RunView, now: datetime) -> Markup | None:
    """Write the section; None where nothing has started. ``now`` is the end of what still runs."""
    ran = _ran(run.groups, now)
    if not ran:
        return None
    length = max(one.ended for one in ran) or 1.0
    longest = sorted(ran, key=lambda one: (ORDER.get(one.group.state, 2) > 1, one.started - one.ended, one.group.key))
    shown = sorted(longest[:MOST_BARS], key=lambda one: (one.started, one.group.key))
    told = "" if len(shown) == len(ran) else f" Shown are {len(shown)} of {len(ran)}: failed ones, then the longest."
    return join(
        tag("p", f"{len(ran)} groups ran within {wording.span_of_time(length)}, from {_first(ran)} UTC.{told}"),
        _area(ran, length),
        _bars(shown, length),
    )


def _ran(groups: Sequence[GroupView], now: datetime) -> list[Ran]:
    found = []
    for group in groups:
        started = parse_rfc3339(group.started) if group.started else None
        ended = parse_rfc3339(group.ended) if group.ended else now
        if started and ended:
            found.append((group, started.timestamp(), max(ended, started).timestamp()))
    zero = min((started for _, started, _ in found), default=0.0)
    return [Ran(group, started - zero, ended - zero) for group, started, ended in found]


def _first(ran: Sequence[Ran]) -> str:
    return min(ran, key=lambda one: (one.started, one.group.key)).group.started.replace("T", " ").removesuffix("Z")


def _area(ran: Sequence[Ran], length: float) -> Markup:
    """Draw the number of groups that run, have ended and have failed, over time."""
    frame = Frame(1000, 190, length, len(ran))
    moments = [length * step / STEPS for step in range(STEPS + 1)]
    ended = _reached(sorted(one.ended for one in ran if one.group.ended), moments)
    bad = [one.ended for one in ran if one.group.state in ("Failed", "ValidationFailed")]
    failed = _reached(sorted(bad), moments)
    started = _reached(sorted(one.started for one in ran), moments)
    layers = (("a-running", started), ("a-ended", ended), ("a-failed", failed))
    areas = [
        tag(
            "polyline",
            class_=name,
            points=frame.points([(0, 0), *zip(moments, map(float, counts), strict=True), (length, 0)]),
        )
        for name, counts in layers
    ]
    label = f"Groups over time: {len(ran)} started, {ended[-1]} ended, {failed[-1]} of them failed"
    words = legend([(swatch("a-running"), "running"), (swatch("a-ended"), "ended"), (swatch("a-failed"), "failed")])
    axis = base_line(frame, [(value, wording.span_of_time(value)) for value in ticks_to(length, 8)])
    return tag(
        "figure", tag("figcaption", label), words, picture(frame, label, areas, value_axis(frame, "groups"), axis)
    )


def _reached(ordered: Sequence[float], moments: Sequence[float]) -> list[int]:
    """Count how many of the sorted times are not later than each moment."""
    counts, index = [], 0
    for moment in moments:
        while index < len(ordered) and ordered[index] <= moment:
            index += 1
        counts.append(index)
    return counts


def _bars(shown: Sequence[Ran], length: float) -> Markup:
    frame = Frame(LABEL_WIDTH + BAR_WIDTH + 100, len(shown) * BAR_HEIGHT + 4, 1, 1)
    rows = [_bar(index, one, length) for index, one in enumerate(shown)]
    return tag(
        "figure", picture(frame, f"When each of {len(shown)} groups ran; the table of groups has the times", rows)
    )


def _bar(index: int, one: Ran, length: float) -> Markup:
    y = index * BAR_HEIGHT
    left, width = LABEL_WIDTH + BAR_WIDTH * one.started / length, BAR_WIDTH * (one.ended - one.started) / length
    lasted = wording.span_of_time(one.ended - one.started)
    several = f", iteration {one.group.key.iteration}" if one.group.key.iteration > 1 else ""
    title = tag("title", f"{one.group.label}{several}: {one.group.state}, {lasted}")
    box = tag(
        "rect", title, class_=f"b-{one.group.state}", x=left, y=y + 3, width=max(2.0, width), height=BAR_HEIGHT - 6
    )
    words = lasted if one.group.state in ("Succeeded", "Running") else f"{lasted}, {one.group.state}"
    label = tag("text", f"{one.group.label}{several}", x=LABEL_WIDTH - 8, y=y + 13, text_anchor="end")
    return join(label, box, tag("text", words, x=left + max(2.0, width) + 6, y=y + 13, class_="small"))
