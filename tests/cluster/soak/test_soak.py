"""Many runs while everything that can go down goes down: each ends as its nodes imply, and nothing is left of it.

SOAK_SECONDS (120), SOAK_RUNS (8, at least so many) and SOAK_SEED choose how long, how many, and which.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.cluster import build, processes
from tests.cluster.cluster import Cluster
from tests.cluster.product import Product, running
from tests.cluster.run.runs import node_list
from tests.cluster.soak.faults import Faults
from tests.cluster.soak.pools import LABEL, POOLS, SIZE, Pool, manifest
from tests.support.kubectl import Kubectl, KubectlError

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "120"))
RUNS = int(os.environ.get("SOAK_RUNS", "8"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
POD_SECONDS = 15  # longer than the API server is away: a pod that ends before the next is placed leaves it its own node
STAGES_SECONDS = 10.0  # until KWOK has taken up how pods end on which nodes: those before end like any other
PATIENCE = 900.0  # for one run: more than all of the product's own bounds; a healthy one takes half a minute
LOOK_SECONDS = 1.0
REMIND_SECONDS = 30.0
AGAIN = "tests.cre.nvidia.com/again"
LEFT = (
    "workloadruns,workflows,jobs.cre.nvidia.com,bandwidthmeasurements,trainjobs,trainingruntimes,jobsets,pods,services"
)
COLLECTED_SECONDS = 1200.0  # the garbage collector tries again at least every 1,000 s
MOST_GROWTH = 1.3  # of a server's memory from the first calm look to the last

Found = TypeVar("Found")


@pytest.fixture(scope="module")
def product(control_plane: Path) -> Iterator[Product]:
    program = str(build.tools_folder() / "bin" / "kubectl")
    with running(control_plane, Kubectl(control_plane / "kubeconfig", program)) as product:
        yield product


@dataclass
class Soak:
    """Runs under way by pool, how many have ended, and which did not end as they had to."""

    cluster: Cluster
    nodes: dict[str, list[str]]
    dice: random.Random
    under_way: dict[str, tuple[str, float]] = field(default_factory=dict)
    ended: int = 0
    wrong: list[str] = field(default_factory=list)
    reminded: float = 0.0

    def remind(self) -> None:
        """Let KWOK look at every pod again: it forgets most of what has failed, where a kubelet tries until it is done.

        Else a pod whose end was asked for while the API server went down would hold its node for ever.
        """
        now = time.monotonic()
        if now - self.reminded > REMIND_SECONDS:
            self.reminded = now
            answered(lambda: self.cluster.kubectl("annotate", "pods", "--all", "--overwrite", f"{AGAIN}={now:.0f}"))

    def begin(self, pool: Pool) -> None:
        """Create a run on a pool that has none; where admission is down it is refused, and tried again later.

        Pods of the run before hold their nodes until the garbage collector takes them, which it does minutes later
        where the API server was away when it first tried: what waits for such a node is no matter of the product's.
        """
        pods = answered(lambda: self.cluster.kubectl.list("pods"))
        if pods is None or any(pod["spec"].get("nodeName") in self.nodes[pool.name] for pod in pods):
            return
        name = f"{pool.name}-{self.ended}"
        run = manifest(pool, name, self.dice.choice(pool.group_sizes))
        if answered(lambda: self.cluster.kubectl.apply([run])) is not None:
            self.under_way[pool.name] = (name, time.monotonic())

    def look(self, pool: Pool) -> None:
        """See whether the run on a pool has ended, and how; delete it then."""
        name, since = self.under_way[pool.name]
        found = answered(lambda: self.cluster.kubectl.get("workloadrun", name))
        if found is None:
            return
        status = found.get("status", {})
        if "verdict" not in status:
            if time.monotonic() - since > PATIENCE:
                raise AssertionError(f"{name} does not end: {status}\nthere are\n{self._what_there_is()}")
            return
        judged = answered(lambda: self._judge(pool, name, status))
        if judged is not None and answered(lambda: self.cluster.kubectl("delete", "workloadrun", name)) is not None:
            self.wrong += judged
            self.ended += 1
            del self.under_way[pool.name]

    def _what_there_is(self) -> str:
        """Tell of every pod where it is and since when it should be gone, and what else there is."""
        columns = (
            "NAME:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase,DELETED:.metadata.deletionTimestamp,"
            "FINALIZERS:.metadata.finalizers,OWNER:.metadata.ownerReferences[0].uid"
        )
        pods = self.cluster.kubectl("get", "pods", f"--output=custom-columns={columns}")
        return pods + self.cluster.kubectl("get", LEFT + ",jobs.batch", "--output=name")

    def _judge(self, pool: Pool, name: str, status: dict[str, Any]) -> list[str]:
        bad = node_list(self.cluster, status["failedNodesRef"]) if "failedNodesRef" in status else []
        named = sorted(item["name"] for item in bad)
        expected = sorted(self.nodes[pool.name][number] for number in pool.bad)
        if (status["verdict"], named) == (pool.verdict, expected):
            return []
        told = [*status.get("verdictReasons", ()), *status.get("remarks", ())]
        return [f"{name}: {status['verdict']} {told} bad {named}, not {pool.verdict} {expected}"]


def answered(ask: Callable[[], Found]) -> Found | None:
    """Return the answer, None where the cluster cannot answer now."""
    try:
        return ask()
    except KubectlError:
        return None


def arrange(cluster: Cluster) -> tuple[dict[str, list[str]], str]:
    """Make the pools, and one node more that no run is about."""
    cluster.run_for(POD_SECONDS)
    names = cluster.nodes("aws", "h100", len(POOLS) * SIZE + 1)
    nodes = {pool.name: names[number * SIZE :][:SIZE] for number, pool in enumerate(POOLS)}
    for pool in POOLS:
        cluster.kubectl("label", "node", *nodes[pool.name], f"{LABEL}={pool.name}")
        pool.arrange(cluster, nodes[pool.name])
    time.sleep(STAGES_SECONDS)
    return nodes, names[-1]


def memory(product: Product, server: str) -> int:
    """Return a server's resident memory in bytes, its worker's included."""
    leader = processes.running(product.folder, server)
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            group = int(path.read_text().rpartition(")")[2].split()[2])
            if group == leader:
                total += int((path.parent / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:  # it has just ended
            continue
    return total


def play(soak: Soak, until: Callable[[], bool], *, more: bool) -> None:
    """Go on with runs until the condition holds; with ``more``, each that ends makes room for the next."""
    while not until():
        soak.remind()
        for pool in POOLS:
            if pool.name in soak.under_way:
                soak.look(pool)
            elif more:
                soak.begin(pool)
        time.sleep(LOOK_SECONDS)


def test_runs_end_as_they_must_whatever_goes_down_and_nothing_is_left(cluster: Cluster, product: Product) -> None:
    nodes, idle = arrange(cluster)
    soak = Soak(cluster, nodes, random.Random(SEED))
    end = time.monotonic() + SECONDS
    with Faults(cluster, product, idle, SEED) as faults:
        play(soak, lambda: time.monotonic() > end and soak.ended >= RUNS, more=True)
    play(soak, lambda: not soak.under_way, more=False)
    shaken = soak.ended
    before = {server: memory(product, server) for server in ("admission", "hooks")}
    play(soak, lambda: soak.ended >= shaken + len(POOLS), more=True)
    play(soak, lambda: not soak.under_way, more=False)
    after = {server: memory(product, server) for server in ("admission", "hooks")}
    print(f"\n{soak.ended} runs; {dict(sorted(faults.done.items()))}; memory {before} then {after}", file=sys.stderr)
    assert soak.wrong == []
    assert sum(faults.done.values()) > 0
    assert {server: size for server, size in after.items() if size > MOST_GROWTH * before[server]} == {}
    cluster.eventually(
        lambda: not cluster.kubectl("get", LEFT, "--output=name", "--ignore-not-found"), COLLECTED_SECONDS
    )
    ours = [item["metadata"]["name"] for item in cluster.kubectl.list("configmaps")]
    assert ours == ["kube-root-ca.crt"]
