"""Reads manifests from files, `-` for stdin: several documents a file, lists taken apart. Judges nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.documents import load_documents
from cli.errors import CliError

STDIN = "-"
MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and the file it was read from."""

    file: str
    object: dict[str, Any]


def read_manifests(file: str) -> list[Manifest]:
    """Read every object of a file, in order. Raises CliError: no such file, not YAML, empty, no objects."""
    try:
        documents = list(load_documents(_text(file)))
    except ValueError as error:
        raise CliError(f"{file}: is not YAML: {error}") from error
    manifests = [Manifest(file, obj) for document in documents for obj in _objects(file, document)]
    if not manifests:
        raise CliError(f"{file}: is empty")
    return manifests


def _text(file: str) -> str:
    try:
        content = _content(file)
    except OSError as error:
        raise CliError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise CliError(f"{file}: {error}") from error
    if len(content) > MOST_BYTES:
        raise CliError(f"{file}: is larger than {MOST_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CliError(f"{file}: is not UTF-8 text, at byte {error.start}") from error


def _content(file: str) -> bytes:
    if file == STDIN:
        if sys.stdin is None:
            raise CliError(f"{STDIN}: standard input is closed")
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with Path(file).open("rb") as stream:
        return stream.read(MOST_BYTES + 1)


def _objects(file: str, document: Any) -> Iterator[dict[str, Any]]:
    """Take a list of objects apart; an empty document is none."""
    if document is None:
        return
    if not isinstance(document, dict):
        raise CliError(f"{file}: holds no Kubernetes object")
    if document.get("kind") != "List":
        yield document
        return
    items = document.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CliError(f"{file}: holds a List without a list of objects in items")
    yield from items
