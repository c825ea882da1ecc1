"""Which nodes there are, what happens on them, and what a run on them must end as: data of the soak.

A pool is four nodes with a label of its own. What is wrong with one stays wrong, so that a verdict is implied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster

LABEL = "soak.test/pool"
SIZE = 4
NCCL_LOG = Path(__file__).parents[3] / "examples" / "logs" / "all-reduce.log"
BANDWIDTH = {"logProfileRef": "nccl-bandwidth", "testType": "all_reduce", "sampleInterval": "2s"}

HANGS_FOR = "120s"  # longer than any pod runs whose end KWOK forgets while the API server is away, and is reminded of

Nodes = Sequence[str]


@dataclass(frozen=True, slots=True)
class Pool:
    """Four nodes, what is arranged on them, and the only end that a run on them may come to."""

    name: str
    verdict: str
    arrange: Callable[[Cluster, Nodes], None] = lambda cluster, nodes: None
    bad: tuple[int, ...] = ()
    """Numbers of the nodes that must be on the list of failed ones, and no other."""
    group_sizes: tuple[int, ...] = (1, 2)
    more: tuple[tuple[str, Any], ...] = ()
    """Further fields of the spec."""


def _cordon(cluster: Cluster, nodes: Nodes) -> None:
    cluster.kubectl("cordon", nodes[3])


def _print_bandwidth(cluster: Cluster, nodes: Nodes) -> None:
    cluster.logs(NCCL_LOG, nodes=nodes)


POOLS = (
    Pool("healthy", "Passed"),
    Pool("iterated", "Passed", more=(("orchestration", {"timeoutPerJob": "1h", "iterations": 2}),)),
    Pool("crash", "Failed", lambda cluster, nodes: cluster.fail_pods_on(nodes[1], 3), bad=(1,)),
    Pool("evict", "Failed", lambda cluster, nodes: cluster.evict_pods_on(nodes[2]), bad=(2,)),
    Pool(
        "hang",
        "Failed",
        lambda cluster, nodes: cluster.hang_pods_on(nodes[0]),
        bad=(0,),
        group_sizes=(1,),
        more=(("orchestration", {"timeoutPerJob": HANGS_FOR}),),
    ),
    Pool("cordoned", "Incomplete", _cordon, group_sizes=(1,)),
    Pool("measured", "Passed", _print_bandwidth, group_sizes=(2,), more=(("bandwidthMeasurement", BANDWIDTH),)),
    Pool(
        "slow",
        "Failed",
        _print_bandwidth,
        bad=(0, 1, 2, 3),
        group_sizes=(2,),
        more=(("bandwidthMeasurement", BANDWIDTH), ("thresholds", {"busBandwidthGBps": "value > 100000"})),
    ),
)


def manifest(pool: Pool, name: str, group_size: int) -> dict[str, Any]:
    """Write a run on a pool's nodes."""
    return {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "WorkloadRun",
        "metadata": {"name": name},
        "spec": {
            "image": "example.test/work:1",
            "framework": {"exec": {"command": ["true"]}},
            "numNodes": group_size,
            "target": {"nodeSelector": {LABEL: pool.name}},
            **dict(pool.more),
        },
    }
