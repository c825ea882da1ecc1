"""Nodes whose logs nobody reads, although nothing made one program of what ran on them. Judges no figure itself."""

from __future__ import annotations

from typing import Any

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus
from sync_hooks.api.job import JobSpec
from sync_hooks.api.status import read_status
from sync_hooks.execution.planned import planned
from sync_hooks.execution.settle import Measured, together


def lists_ranks(raw: Any) -> bool:
    """Tell whether a bandwidth log lists its ranks by host, which are judged by themselves; ``raw`` is a status."""
    return read_status(BandwidthMeasurementStatus, raw).several_hosts is not None


def with_unread_nodes(measured: Measured, spec: JobSpec, name: str) -> Measured:
    """Add to what a measurement found that it is not of all nodes, where each ran a program of its own.

    ``name`` is the measurement's: bandwidth or goodput.
    """
    nodes = planned(spec).nodes or 1
    if not spec.nodes_apart or nodes == 1 or not measured.figures:
        return measured
    text = f"{name}: nothing joined the programs of {nodes} nodes, and not all of their logs were read"
    return together(measured, Measured(unmeasured=(text,), doubtful=frozenset(measured.figures)))
