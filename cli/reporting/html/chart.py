"""Axes and frames of charts: round steps, message sizes, a picture with its words. Knows nothing of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cli.reporting.html.markup import Content, Markup, join, number, tag

LEFT, RIGHT, TOP, BOTTOM = 52, 12, 14, 34  # pixels around the plot, for ticks and their labels


@dataclass(frozen=True, slots=True)
class Frame:
    """A plot of ``width`` by ``height`` pixels whose axes run from 0 to ``most_x`` and 0 to ``most_y``."""

    width: int
    height: int
    most_x: float
    most_y: float
    right: int = RIGHT

    def x(self, value: float) -> float:
        """Place a value on the horizontal axis."""
        return LEFT + (self.width - LEFT - self.right) * value / (self.most_x or 1)

    def y(self, value: float) -> float:
        """Place a value on the vertical axis."""
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * value / (self.most_y or 1)

    def points(self, values: Sequence[tuple[float, float]]) -> str:
        """Write the points of a line."""
        return " ".join(f"{number(self.x(x))},{number(self.y(y))}" for x, y in values)


def picture(frame: Frame, label: str, *content: Content, class_: str = "") -> Markup:
    """Write an SVG that tells what it shows also to those who do not see it."""
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {frame.width} {frame.height}",
        width=frame.width,
        height=frame.height,
        class_=class_ or None,
        role="img",
        aria_label=label,
    )


def value_axis(frame: Frame, unit: str) -> Markup:
    """Write the vertical axis with lines across the plot; ``unit`` stands above it."""
    ticks = []
    for value in ticks_to(frame.most_y):
        y = number(frame.y(value))
        ticks.append(tag("path", d=f"M{LEFT} {y}H{frame.width - frame.right}", class_="grid"))
        ticks.append(tag("text", f"{value:g}", x=LEFT - 6, y=frame.y(value) + 4, text_anchor="end", class_="small"))
    return join(ticks, tag("text", unit, x=LEFT - 6, y=TOP - 4, text_anchor="end", class_="small"))


def base_line(frame: Frame, ticks: Sequence[tuple[float, str]]) -> Markup:
    """Write the horizontal axis with labelled ticks."""
    bottom = frame.height - BOTTOM
    marks = [
        (
            tag("path", d=f"M{number(frame.x(at))} {bottom}v4", class_="axis"),
            tag("text", label, x=frame.x(at), y=bottom + 17, text_anchor="middle", class_="small"),
        )
        for at, label in ticks
    ]
    return join(tag("path", d=f"M{LEFT} {bottom}H{frame.width - frame.right}", class_="axis"), marks)


def ticks_to(most: float, count: int = 5) -> Iterator[float]:
    """Yield round values from 0 to ``most``, about so many."""
    if most <= 0:
        yield 0.0
        return
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    for index in range(int(most / step) + 1):
        yield step * index


def size_text(size: float) -> str:
    """Write a message size in binary units: 8 B, 64 KiB, 16 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:g} {unit}"
        size /= 1024
    return ""


def legend(entries: Sequence[tuple[Content, str]]) -> Markup:
    """Write what colours and marks mean: a sample and its word each."""
    return tag("ul", [tag("li", sample, word) for sample, word in entries], class_="legend")


def swatch(class_: str) -> Markup:
    """Write a sample of a filled area."""
    box = tag("rect", class_=class_, x=1, y=1, width=13, height=13)
    return tag("svg", box, width=15, height=15, aria_hidden="true")
