"""What planning knows after each of its steps, and how a step gives up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sync_hooks.api.observed import Node
from sync_hooks.api.override import Override
from sync_hooks.api.results import AppliedOverride, ExcludedNode
from sync_hooks.api.trainer import JsonObject
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.cluster.nodes import Selection
from sync_hooks.overrides.draft import Draft, Naming
from sync_hooks.overrides.rows import Effects
from sync_hooks.planning.orchestration import Orchestration
from sync_hooks.planning.plan import Group, RunIdentity, Unplannable

MOST_NAMES = 5  # of a list in a message
MOST_REASONS = 10


@dataclass(frozen=True, slots=True)
class State:
    """Each step fills in what later ones read."""

    identity: RunIdentity
    spec: WorkloadRunSpec
    nodes: tuple[Node, ...]
    """Every node of the cluster, sorted by name."""
    absent_kinds: frozenset[tuple[str, str]]
    """apiVersion and kind of device APIs that the cluster does not serve."""
    orchestration: Orchestration
    naming: Naming
    selection: Selection = field(default_factory=Selection)
    platform: str = ""
    architecture: str = ""
    overrides: tuple[tuple[int, Override], ...] = ()
    """The user's overrides that match, each with its place in the spec."""
    gpus: int = 0
    needed_gpus: int = 0
    """nvidia.com/gpu that each worker requests; 0 where it requests none."""
    nics: int = 0
    nic_resource: str = ""
    mnnvl: bool = False
    rows: tuple[Effects, ...] = ()
    """Rows of the platform table that match."""
    draft: Draft = field(default_factory=lambda: Draft({}, {}))
    applied: tuple[AppliedOverride, ...] = ()
    tolerations: tuple[JsonObject, ...] = ()
    groups: tuple[Group, ...] = ()
    warnings: tuple[str, ...] = ()


Step = Callable[[State], State | Unplannable]


def give_up(state: State, reason: str, message: str, *, wait: bool = False) -> Unplannable:
    """End planning with what is known so far. ``wait`` says that time may mend it."""
    excluded = (ExcludedNode(name=name, reason=why) for name, why in sorted(state.selection.excluded.items()))
    return Unplannable(reason, message, wait, tuple(excluded), state.applied)


def name_some(names: tuple[str, ...]) -> str:
    """List the first names and count the others."""
    rest = len(names) - MOST_NAMES
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {rest} more" if rest > 0 else shown


def tell_excluded(excluded: Mapping[str, str]) -> str:
    """Say how many nodes are left out for which reason; empty where none is."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(excluded.items()):
        by_reason.setdefault(reason, []).append(name)
    ordered = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = [
        f"{len(names)} node{'s' if len(names) > 1 else ''}: {reason} ({name_some(tuple(names))})"
        for reason, names in ordered[:MOST_REASONS]
    ]
    return "; ".join(parts) + ("; ..." if len(ordered) > MOST_REASONS else "")
