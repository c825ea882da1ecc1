"""HTML and SVG as values: text is escaped where it enters, and only what this module made counts as markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from cli.output import printable

VOID = frozenset({"br", "col", "meta", "rect", "path", "line", "circle", "polyline"})
"""Elements that may stand without an end: HTML's own, and those of SVG that stand empty."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | Iterable["Content"] | None
"""Text, markup, or any nesting of both; None is nothing."""


def tag(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """Write an element. ``class_`` is class, ``aria_label`` is aria-label; True is an attribute without a value.

    An attribute that is None or False is left out; numbers are written as short as they can be.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    inner = _inner(content)
    if not inner and name in VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inner}</{name}>")


def text(value: str) -> Markup:
    """Escape a line of text; control characters are shown."""
    return Markup(escape(value if value.isprintable() else printable(value)))


def lines(value: str) -> Markup:
    """Escape text of several lines, as in a log; its line ends and tabs stay."""
    return Markup("\n".join(text(line.expandtabs()) for line in value.splitlines()))


def join(*content: Content) -> Markup:
    """Put pieces together, escaping what is no markup."""
    return Markup(_inner(content))


def number(value: float) -> str:
    """Write a number for an attribute: at most one decimal, none where it is whole."""
    return f"{value:.1f}".removesuffix(".0")


def _inner(content: Iterable[Content]) -> str:
    return "".join(_piece(piece) for piece in content)


def _piece(piece: Content) -> str:
    if piece is None:
        return ""
    if isinstance(piece, Markup):
        return piece
    return text(piece) if isinstance(piece, str) else _inner(piece)


def _attribute(key: str, value: str | float | bool | None) -> str:  # noqa: FBT001 - HTML's own booleans
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(value) if isinstance(value, str) else number(value)}"'
