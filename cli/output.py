"""How commands print: one JSON document on stdout, or lines for people; UTF-8, whatever the locale."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import msgspec


def print_json(document: Any) -> None:
    """Print one document on stdout, indented."""
    _write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def print_line(line: str) -> None:
    """Print a line of the result on stdout; control characters in it are shown, not sent to the terminal."""
    _write(printable(line).encode("utf-8", "replace") + b"\n")


def print_text(text: str) -> None:
    """Print a document on stdout as it is: its author has escaped what must be."""
    _write(text.encode("utf-8", "replace"))


def print_note(line: str) -> None:
    """Print a line beside the result, on stderr; where that cannot be written, the result still counts."""
    sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.buffer.write(printable(line).encode("utf-8", "replace") + b"\n")
        sys.stderr.buffer.flush()


def printable(text: str) -> str:
    """Write control characters as escapes: text from objects and clusters must not steer a terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _write(content: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
