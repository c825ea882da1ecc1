"""What a simulation ended with: its objects and events, and what it cost in requests. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cli.simulator.entry import Object

Stopped = Literal["done", "idle", "until"]


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes of one kind by one actor."""

    actor: str
    verb: str
    kind: str
    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HookTraffic:
    """Calls of one controller's hooks."""

    controller: str
    calls: int
    errors: int
    request_bytes: int
    largest_request: int
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """The end of a simulation. ``stopped``: its condition held, nothing was left to do, or time was up."""

    virtual_seconds: float
    stopped: Stopped
    objects: tuple[Object, ...]
    """Everything but events, nodes and controllers, sorted by apiVersion, kind, namespace and name."""
    events: tuple[Object, ...]
    """Sorted by time."""
    writes: tuple[Writes, ...]
    hooks: tuple[HookTraffic, ...]
    reads: dict[str, int]
    """Reads of hooks by type."""
    log_bytes: int
