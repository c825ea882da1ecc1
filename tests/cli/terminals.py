"""What a command prints, with and without a terminal that shows colours."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

from cli.terminal import UNBROKEN


def printed(show: Callable[[Console], None], *, terminal: bool = False) -> str:
    """Return what was printed on a console as `cli.terminal` makes it."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        width=120 if terminal else UNBROKEN,
        markup=False,
        emoji=False,
        highlight=False,
    )
    show(console)
    return stream.getvalue()
