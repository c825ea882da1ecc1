"""Tables: a heading a column, a row a thing; wider than the window they scroll by themselves, not with the page."""

from __future__ import annotations

from collections.abc import Sequence

from cli.reporting.html.markup import Content, Markup, tag

Heading = str | tuple[str, str]
"""A word, or a word and the class of its column's heading."""


def table(headings: Sequence[Heading], rows: Sequence[Markup], caption: str = "") -> Markup:
    """Write a table; a row is an element of its own whose first cell is its heading."""
    head = tag("tr", [_heading(one) for one in headings])
    described = tag("caption", caption) if caption else None
    return tag("div", tag("table", described, tag("thead", head), tag("tbody", rows)), class_="wide")


def _heading(heading: Heading) -> Markup:
    word, class_ = heading if isinstance(heading, tuple) else (heading, "")
    return tag("th", word, scope="col", class_=class_ or None)


def row(first: Content, *cells: Content) -> Markup:
    """Write a row of finished cells behind its heading."""
    return tag("tr", tag("th", first, scope="row"), cells)


def number(text: str) -> Markup:
    """Write a cell with a number."""
    return tag("td", text, class_="num")
