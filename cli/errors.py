"""What ends a command because it cannot be done at all. Refused objects and failed runs are results, not errors."""

from __future__ import annotations

EXIT_CANNOT = 2  # beats every other exit code


class CliError(Exception):
    """A reason, as one line for the person at the terminal."""


def one_line(error: Exception) -> str:
    """Write an error's text in one line."""
    return " ".join(str(error).split())
