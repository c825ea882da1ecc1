"""Which taints the workload's pods tolerate, and which of those say that somebody wants the workload on the node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sync_hooks.api.names import GPU
from sync_hooks.api.target import Target
from sync_hooks.api.trainer import JsonObject
from sync_hooks.api.workloadrun import WorkloadRunSpec

EVERYTHING: JsonObject = {"operator": "Exists"}
ACCELERATOR: tuple[JsonObject, ...] = (
    {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
    {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
)
"""Taints that keep other work off GPU nodes; a workload that needs GPUs belongs there."""


def possible(spec: WorkloadRunSpec, target: Target) -> list[JsonObject]:
    """Return what pods may tolerate in the end: for a first look at nodes, before overrides are chosen."""
    return [*ACCELERATOR, *_of_target(target), *_mentioned([one.to_dict() for one in spec.overrides or ()])]


def asked_for(target: Target, rendered: Sequence[JsonObject]) -> list[JsonObject]:
    """Return what is tolerated on purpose: it makes a tainted node a node of this run.

    The blanket toleration of pinned MPI pods is not among them: it says nothing about whose node it is.
    """
    return [*ACCELERATOR, *_of_target(target), *_mentioned(list(rendered))]


def of_pods(
    spec: WorkloadRunSpec, target: Target, rendered: Sequence[JsonObject], *, unpinned: bool
) -> list[JsonObject]:
    """Return the tolerations of every pod; those ``rendered`` are among them, because our patch replaces the list.

    Pinned MPI pods tolerate everything unless the target names taints: the launcher must get onto its group's nodes.
    """
    selected = _of_target(target)
    blanket = spec.framework.mpi is not None and not unpinned and not selected
    chosen = [EVERYTHING] if blanket else [*selected, *ACCELERATOR]
    listed: list[JsonObject] = []
    for toleration in (*chosen, *_mentioned(list(rendered))):
        if toleration not in listed:
            listed.append(toleration)
    return [EVERYTHING] if EVERYTHING in listed else listed


def _of_target(target: Target) -> list[JsonObject]:
    return [
        {
            "key": selector.key,
            **({"operator": "Equal", "value": selector.value} if selector.value else {"operator": "Exists"}),
            **({"effect": selector.effect} if selector.effect else {}),
        }
        for selector in target.taint_selectors or ()
    ]


def _mentioned(value: Any) -> Iterator[JsonObject]:
    """Yield every toleration anywhere inside, in order."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "tolerations" and isinstance(part, list):
                yield from (entry for entry in part if isinstance(entry, dict))
            else:
                yield from _mentioned(part)
    elif isinstance(value, list):
        for part in value:
            yield from _mentioned(part)
