"""The terminal as commands write to it: colours only where a terminal shows them, lines whole where none does."""

from __future__ import annotations

import io
import sys
from typing import NoReturn, TextIO

from rich.console import Console

UNBROKEN = 100_000  # columns where nobody looks: a line that is cut in the middle of a name is no use to a program


def stdout(*, no_color: bool) -> Console:
    """Return what writes to standard output; NO_COLOR and the form of the terminal are rich's business."""
    return _console(sys.stdout, no_color=no_color)


def stderr(*, no_color: bool) -> Console:
    """Return what writes beside the result."""
    return _console(sys.stderr, no_color=no_color)


class _Console(Console):
    """A console that leaves it to `cli.main` what it means that the reader has gone."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise again the BrokenPipeError that is being handled."""
        self.quiet = True
        raise


def _console(stream: TextIO, *, no_color: bool) -> Console:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="replace")  # names are UTF-8, whatever the locale
    return _Console(
        file=stream,
        no_color=no_color or None,
        width=None if stream.isatty() else UNBROKEN,
        markup=False,  # brackets in names are brackets
        emoji=False,
        highlight=False,
    )
