"""The hooks' process is killed in mid-run, again and again, and loses the API for a while: the run ends all the same.

A run without the fault comes first, on the same nodes; what counts is that the second one cannot be told from it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from cli.simulator.kinds import TRAINER, Kind
from tests.cluster.cluster import Cluster
from tests.cluster.product import Product
from tests.cluster.relay import Relay
from tests.cluster.run.runs import EXAMPLES, conditions, ended, example, node_list, sampled
from tests.cluster.sightings import Sightings

TRAIN_JOB = Kind(TRAINER, "TrainJob", "trainjobs", custom=True)
KILLED_AT = (0, 1, 3, 4, 5)
"""TrainJobs that have been made when the hooks are killed: before the first, and on until the last."""
CUT_AT = 3
CUT_SECONDS = 8.0
PATIENCE_SECONDS = 600
"""Calls that fail are tried again later and later: where it takes long to start, a run takes much longer still."""
CALM, SHAKEN = "calm", "shaken"


@dataclass(frozen=True, slots=True)
class End:
    """All that a run leaves behind, and nothing that depends on its name or on time."""

    verdict: str
    conditions: dict[str, str]
    coverage: dict[str, int]
    progress: dict[str, int]
    good: Any
    bad: list[str]
    train_jobs: dict[str, int]
    """How many TrainJobs there have been of each name."""


@pytest.fixture
def nodes(cluster: Cluster, product: Product) -> list[str]:
    """Eight nodes, of which the third fails whatever runs on it."""
    cluster.run_for(2)
    cluster.logs(EXAMPLES / "logs" / "all-reduce.log")
    names = cluster.nodes("aws", "h100", 8)
    cluster.fail_pods_on(names[2])
    return names


@pytest.fixture
def seen(cluster: Cluster) -> Iterator[Sightings]:
    with Sightings(cluster.kubeconfig, TRAIN_JOB, cluster.namespace) as sightings:
        yield sightings


@pytest.fixture
def way(cluster: Cluster, product: Product) -> Iterator[Relay]:
    """The hooks' way to the API, in place of the direct one until the test ends."""
    parts = urlsplit(yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
    with Relay((parts.hostname or "", parts.port or 0)) as relay:
        yield relay
        product.kill("hooks")
        product.start("hooks")


def manifest(name: str) -> dict[str, Any]:
    execution = {"execution": {"maxConcurrent": 2, "retryFailedGroups": 1}}
    overrides = [{"when": {"platform": {"equals": "aws"}}, "orchestration": execution}]
    run = sampled(example("nccl-all-reduce-bandwidth", numNodes=2, overrides=overrides))
    return {**run, "metadata": {"name": name}}


def end_of(cluster: Cluster, name: str, seen: Sightings) -> End:
    status = ended(cluster, name, PATIENCE_SECONDS)
    return End(
        verdict=status["verdict"],
        conditions=conditions(status),
        coverage=status["coverage"],
        progress={key: value for key, value in status["progress"].items() if key != "since"},
        good=node_list(cluster, status["succeededNodesRef"]),
        bad=sorted(item["name"] for item in node_list(cluster, status["failedNodesRef"])),
        train_jobs={key: len(uids) for key, uids in seen.of(name).items()},
    )


def through(relay: Relay, cluster: Cluster) -> Path:
    """Write a kubeconfig whose server is the relay."""
    document = yaml.safe_load(cluster.kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{relay.port}"
    path = cluster.folder / f"{cluster.namespace}-relayed"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_run_ends_as_it_would_have_though_its_hooks_die_and_lose_the_api(
    cluster: Cluster, product: Product, nodes: list[str], seen: Sightings, way: Relay
) -> None:
    cluster.apply(manifest(CALM))
    calm = end_of(cluster, CALM, seen)
    assert (calm.verdict, calm.bad) == ("Failed", [nodes[2]])
    assert set(calm.train_jobs.values()) == {1}
    kubeconfig = through(way, cluster)
    cluster.apply(manifest(SHAKEN))
    for made in KILLED_AT:
        cluster.eventually(lambda made=made: len(seen.of(SHAKEN)) >= made, PATIENCE_SECONDS)  # type: ignore[misc]
        product.kill("hooks")
        product.start("hooks", kubeconfig)
        if made == CUT_AT:
            with way.cut():
                time.sleep(CUT_SECONDS)
    assert end_of(cluster, SHAKEN, seen) == calm
