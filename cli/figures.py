"""What a run under way has measured so far, as the columns of `kubectl get`: a few bytes a group, however many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec

from cli.connection import Cluster, understood
from cli.errors import CliError
from cli.refusals import Unreachable
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.names import LABEL_WORKLOAD_RUN

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
MEASUREMENTS = (
    ("bandwidthMeasurement", "BandwidthMeasurement", "Peak", "busBandwidthGBps"),
    ("goodputMeasurement", "GoodputMeasurement", "Goodput", "goodputRatio"),
)
"""Field of the spec, kind, its column, and the figure that stands in it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over the groups that have one."""

    groups: int
    lowest: float
    median: float
    highest: float


class _Column(msgspec.Struct):
    name: str = ""


class _Row(msgspec.Struct):
    cells: tuple[Any, ...] | None = None


class _Table(msgspec.Struct):
    columnDefinitions: tuple[_Column, ...] | None = None  # noqa: N815 - the API's name
    rows: tuple[_Row, ...] | None = None


def spread_of(cluster: Cluster, run: Mapping[str, Any]) -> dict[str, Spread]:
    """Read what has been measured, by figure; empty where nothing was, or where it may not be read."""
    found = {}
    for field, kind, column, figure in MEASUREMENTS:
        if field not in (run.get("spec") or {}):
            continue
        try:
            values = sorted(_values(cluster, str(run["metadata"]["name"]), kind, column))
        except Unreachable:
            continue  # the next look at the run itself says so
        except CliError:
            continue  # a report says what may not be read; progress does without
        if values:
            found[figure] = Spread(len(values), values[0], median(values), values[-1])
    return found


def _values(cluster: Cluster, name: str, kind: str, column: str) -> Iterator[float]:
    query = {"labelSelector": f"{LABEL_WORKLOAD_RUN}={name}", "includeObject": "None"}
    for page in cluster.pages(API_VERSION, kind, query, accept=TABLE):
        table = understood(page, _Table)
        index = next((place for place, one in enumerate(table.columnDefinitions or ()) if one.name == column), None)
        if index is None:
            return
        for row in table.rows or ():
            cells = row.cells or ()
            value = cells[index] if index < len(cells) else None
            if isinstance(value, int | float):
                yield float(value)
