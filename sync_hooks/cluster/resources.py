"""What nodes offer: how many GPUs each has for a run, and under which name its fabric interfaces go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sync_hooks.api.observed import Node
from sync_hooks.api.quantity import whole_units

GPU = "nvidia.com/gpu"
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


def commonest_gpus(nodes: Iterable[Node]) -> int | None:
    """Return the positive number of GPUs that most nodes offer, the larger one of a tie; None where none offers any."""
    counts = Counter(gpus for node in nodes if (gpus := offered(node, GPU)) > 0)
    return max(counts, key=lambda gpus: (counts[gpus], gpus), default=None)


def detect_nic_resource(nodes: Sequence[Node], needed: int) -> NicResource:
    """Find the one RDMA resource of which every node offers enough (``needed``, at least 1)."""
    least = max(needed, 1)
    seen = {name for node in nodes for name in node.status.allocatable if _is_fabric(name)}
    enough = sorted(name for name in seen if all(offered(node, name) >= least for node in nodes))
    if len(enough) == 1:
        return NicResource(name=enough[0])
    if enough:
        return NicResource(finding=f"several fabric resources qualify ({', '.join(enough)}): set nicResourceName")
    if seen:
        found = ", ".join(sorted(seen))
        return NicResource(
            finding=f"no fabric resource offers {least} on every node (found {found}): none is requested"
        )
    return NicResource(
        finding="the nodes offer no fabric resource (rdma/... or nvidia.com/mlnxnics): none is requested"
    )


def _is_fabric(name: str) -> bool:
    return name.startswith(RDMA_PREFIX) or name == MELLANOX
