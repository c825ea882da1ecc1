"""Looks nodes up in the shared snapshot: it holds thousands, and a Job has a few."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sync_hooks.api.observed import Node


def pick(nodes: Sequence[Node], names: Iterable[str]) -> dict[str, Node | None]:
    """Find nodes by name, None for those that are not there; ``nodes`` are sorted by name."""
    return {name: _find(nodes, name) for name in sorted(names)}


def _find(nodes: Sequence[Node], name: str) -> Node | None:
    index = bisect_left(nodes, name, key=lambda node: node.name)
    return nodes[index] if index < len(nodes) and nodes[index].name == name else None
