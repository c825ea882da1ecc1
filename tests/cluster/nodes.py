"""The simulator's nodes for the real API server: what a kubelet reports by itself is left to KWOK."""

from __future__ import annotations

from collections.abc import Mapping

from cli.simulator.entry import Object
from cli.simulator.inventory import make
from sync_hooks.api.names import GPU


def gpu_nodes(shorthand: str, gpus: int | None, labels: Mapping[str, str]) -> list[Object]:
    """Return nodes of ``PLATFORM/ARCHxN`` with further labels, and ``gpus`` each where that is not the usual number."""
    return [_unreported(node, gpus, labels) for node in make(shorthand)]


def _unreported(node: Object, gpus: int | None, labels: Mapping[str, str]) -> Object:
    changed = {} if gpus is None else {GPU: str(gpus)}
    counted = {f"{name}.count": count for name, count in changed.items()}  # as GPU feature discovery labels it
    amounts = node["status"]["allocatable"] | changed
    metadata = {**node["metadata"], "labels": node["metadata"]["labels"] | counted | labels}
    return {**node, "metadata": metadata, "status": {"capacity": amounts, "allocatable": amounts}}
