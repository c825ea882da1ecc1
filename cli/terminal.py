"""The terminal as commands write to it: colours only where a terminal shows them, lines whole where none does."""

from __future__ import annotations

import io
import sys

from rich.console import Console

UNBROKEN = 100_000  # columns where nobody looks: a line that is cut in the middle of a name is no use to a program


def stdout(*, no_color: bool) -> Console:
    """Return what writes to standard output; NO_COLOR and the form of the terminal are rich's business."""
    return _console(sys.stdout, no_color=no_color)


def stderr(*, no_color: bool) -> Console:
    """Return what writes beside the result."""
    return _console(sys.stderr, no_color=no_color)


def _console(stream: object, *, no_color: bool) -> Console:
    assert isinstance(stream, io.TextIOWrapper | io.StringIO)  # noqa: S101 - what Python and tests put there
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="replace")  # names are UTF-8, whatever the locale
    return Console(
        file=stream,
        no_color=no_color or None,
        width=None if stream.isatty() else UNBROKEN,
        markup=False,  # brackets in names are brackets
        emoji=False,
        highlight=False,
    )
