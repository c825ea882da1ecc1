"""What nodes offer and what they have: GPUs, and the name under which their fabric interfaces go.

The norm is set by what nodes have, so that many broken ones do not make a broken node the norm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sync_hooks.api.names import GPU
from sync_hooks.api.observed import Node
from sync_hooks.api.quantity import whole_units

LABEL_GPU_COUNT = "nvidia.com/gpu.count"
RDMA_PREFIX = "rdma/"
MELLANOX = "nvidia.com/mlnxnics"


@dataclass(frozen=True, slots=True)
class NicResource:
    """The extended resource of the fabric interfaces: a name, or why there is none."""

    name: str = ""
    finding: str = ""


def offered(node: Node, resource: str) -> int:
    """Return how much of an extended resource pods may take on a node: allocatable, never capacity."""
    return whole_units(node.status.allocatable.get(resource, "0"))


def own(node: Node, resource: str) -> int:
    """Return how much of an extended resource a node has, whole or broken: the most that anything says of it.

    The kubelet keeps the capacity when devices turn unhealthy; the count label outlives a device plugin that is gone.
    """
    capacity = whole_units(node.status.capacity.get(resource, "0"))
    labelled = whole_units(node.labels.get(LABEL_GPU_COUNT, "0")) if resource == GPU else 0
    return max(offered(node, resource), capacity, labelled)


def commonest_gpus(nodes: Iterable[Node]) -> int | None:
    """Return the positive number of GPUs that most nodes have, the larger one of a tie; None where none has any."""
    counts = Counter(gpus for node in nodes if (gpus := own(node, GPU)) > 0)
    return max(counts, key=lambda gpus: (counts[gpus], gpus), default=None)


def detect_nic_resource(nodes: Sequence[Node], needed: int) -> NicResource:
    """Find the RDMA resource of which the most nodes have enough (``needed``, at least 1), if at least half of them do.

    What half of the nodes have is the norm, and nodes without it are odd; what fewer have is odd itself.
    """
    least = max(needed, 1)
    seen = {name for node in nodes for name in (*node.status.allocatable, *node.status.capacity) if _is_fabric(name)}
    having = {name: [node.name for node in nodes if own(node, name) >= least] for name in sorted(seen)}
    most = max(map(len, having.values()), default=0)
    common = [name for name, names in having.items() if len(names) == most]
    if not most:
        return NicResource(finding=_none_found(having, least))
    if 2 * most < len(nodes):
        return NicResource(finding=_too_rare(having[common[0]], common[0], len(nodes)))
    if len(common) > 1:
        return NicResource(finding=f"several fabric resources qualify ({', '.join(common)}): set nicResourceName")
    return NicResource(name=common[0])


def _none_found(seen: Iterable[str], least: int) -> str:
    found = ", ".join(seen)
    if found:
        return f"no node offers {least} of a fabric resource (found {found}): none is requested"
    return "the nodes offer no fabric resource (rdma/... or nvidia.com/mlnxnics): none is requested"


def _too_rare(names: Sequence[str], resource: str, of: int) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        f"{resource} is on {len(names)} of {of} nodes ({names[0]}{more}), fewer than half: none is requested; "
        "nicResourceName asks for it"
    )


def _is_fabric(name: str) -> bool:
    return name.startswith(RDMA_PREFIX) or name == MELLANOX
