"""Reads manifests from files, `-` for stdin: several documents a file, lists taken apart.

Each is told to be a Kubernetes object, one that has an apiVersion and a kind; what stands in it is judged elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.documents import load_documents
from cli.errors import CliError
from sync_hooks.admission.causes import required, wrong_type
from sync_hooks.admission.value import Value

STDIN = "-"
MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object, the file it was read from, and where it stands there."""

    file: str
    object: dict[str, Any]
    document: int
    """Number of its document in the file, from 1; empty ones count."""
    place: str
    """File, number of the document where there are several, and place in a list, as messages begin."""


def read_manifests(file: str) -> list[Manifest]:
    """Read every object of a file, in order. Raises CliError: no such file, not YAML, empty, no objects."""
    text = read_text(file)
    try:
        documents = list(load_documents(text))
    except ValueError as error:
        raise CliError(f"{file}: is not YAML: {error}") from error
    several = sum(document is not None for document in documents) > 1
    manifests = [
        Manifest(file, obj, number, place)
        for number, document in enumerate(documents, 1)
        for place, obj in _objects(f"{file}: document {number}" if several else file, document)
    ]
    if not manifests:
        raise CliError(f"{file}: is empty")
    for manifest in manifests:
        _check_type(manifest)
    return manifests


def read_text(file: str) -> str:
    """Read a file of UTF-8 text, `-` is stdin. Raises CliError."""
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


def _objects(place: str, document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Take a list of objects apart; an empty document is none."""
    if document is None:
        return
    if not isinstance(document, dict):
        raise CliError(f"{place}: holds no Kubernetes object")
    if document.get("kind") != "List":
        yield place, document
        return
    items = document.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CliError(f"{place}: holds a List without a list of objects in items")
    for number, item in enumerate(items):
        yield f"{place}: items[{number}]", item


def _check_type(manifest: Manifest) -> None:
    """Make sure that an object says what it is, in text. Raises CliError."""
    if manifest.object.keys().isdisjoint(TYPE):
        raise CliError(f"{manifest.place}: holds no Kubernetes object: it has neither apiVersion nor kind")
    for name in TYPE:
        where = Value(manifest.object).field(name)
        if not where.present or where.json == "":
            raise CliError(f"{manifest.place}: {name}: {required(where, 'must be given').message}")
        if not where.text:
            raise CliError(f"{manifest.place}: {name}: {wrong_type(where, 'a string').message}")


TYPE = ("apiVersion", "kind")
