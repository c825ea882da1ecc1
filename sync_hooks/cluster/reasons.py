"""Why a targeted node is left out, in the words that people read in the status."""

from __future__ import annotations

from sync_hooks.api.observed import Taint

NO_SUCH_NODE = "no such node"
CORDONED = "cordoned"
NOT_READY = "NotReady"
UNLABELLED = "no nvidia.com/gpu.product label"


def missing_label(key: str, value: str = "") -> str:
    """Say that a label is missing, or has another value."""
    return f"no {key}={value} label" if value else f"no {key} label"


def not_selected(part: str) -> str:
    """Say which part of the target a node named by the target does not meet."""
    return f"does not match target.{part}"


def untolerated(taint: Taint) -> str:
    """Say which taint keeps the workload away."""
    value = f"={taint.value}" if taint.value else ""
    return f"taint {taint.key}{value}:{taint.effect} is not tolerated"


def other_architecture(own: str, chosen: str) -> str:
    """Say that the node's GPUs are of another architecture than the run's."""
    return f"architecture {own}, the run is {chosen}"


def too_few(offered: int | str, needed: int | str, what: str = "GPUs") -> str:
    """Say that the node offers less of something than each node needs."""
    return f"{offered} {what}, {needed} needed"


def too_many(offered: int, used: int) -> str:
    """Say that the node has more GPUs than are used, so that it would be called tested although some never ran."""
    return f"{offered} GPUs, the run uses {used}: the rest would not be tested"


def gpus_missing(offered: int, own: int) -> str:
    """Say that the node does not offer all the GPUs that it has by its own capacity or label."""
    return f"GPUs missing: {offered} of its {own} are allocatable"


def lacks(what: str, offering: int, of: int) -> str:
    """Say that the node offers none of what others of the run's nodes do."""
    return f"lacks {what}, which {offering} of {of} nodes offer"


def alone(key: str, value: str) -> str:
    """Say that no other node is in the node's domain, so that nothing between nodes can be measured there."""
    return f"alone in {key}={value}: no node to measure against"


def same_hostname(hostname: str, other: str) -> str:
    """Say that pods cannot be pinned to the node, because another one answers to the same label."""
    return f"label kubernetes.io/hostname={hostname} is also on node {other}"
