"""What a simulation ended with: its objects and events, and what it cost in requests. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cli.simulator.entry import Object
from cli.simulator.metacontroller import Traffic
from cli.simulator.tally import Tally

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
    busiest_parent: str
    """The parent, by namespace and name, that was synced most."""
    busiest_calls: int
    """How often: far more than for others means that its hook never rests."""


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


def writes(tally: Tally) -> tuple[Writes, ...]:
    """List the counted writes, sorted by actor, verb and kind."""
    return tuple(Writes(*key, count, tally.written_bytes[key]) for key, count in sorted(tally.requests.items()))


def hook_traffic(traffic: Traffic) -> tuple[HookTraffic, ...]:
    """List the counted calls by controller, each with the parent that was synced most."""
    busiest: dict[str, tuple[str, int]] = {}
    for (controller, parent), count in traffic.parents.items():
        if count > busiest.get(controller, ("", 0))[1]:
            busiest[controller] = (parent, count)
    return tuple(
        HookTraffic(
            name,
            traffic.calls[name],
            traffic.errors[name],
            traffic.request_bytes[name],
            traffic.largest_request[name],
            traffic.answer_bytes[name],
            *busiest[name],
        )
        for name in sorted(traffic.calls)
    )
