"""Runs on the real API server, from kubectl apply to the verdict."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cli.simulator.samples import Workload, nccl_table
from sync_hooks.execution.waiting import LONGEST_RESYNC_SECONDS
from tests.cluster.cluster import Cluster
from tests.cluster.product import Product
from tests.cluster.run.runs import EXAMPLES, conditions, ended, example, node_list, sampled
from tests.support.kubectl import KubectlError

FOUR_NODES = Workload("all_reduce", 32, ("gpu-0000", "gpu-0001", "gpu-0002", "gpu-0003"))
NCCL_LOG = "\n".join((*nccl_table(FOUR_NODES), ""))
MEGATRON_LOG = EXAMPLES / "logs" / "megatron-training.log"
QUEUE = {"schedulerName": "kai-scheduler", "queue": "high-priority"}


@pytest.fixture
def eight_nodes(cluster: Cluster, product: Product) -> list[str]:
    cluster.run_for(3)
    return cluster.nodes("aws", "h100", 8)


def test_mistakes_are_refused_with_all_their_fields_in_one_message(cluster: Cluster, product: Product) -> None:
    bad = example("nccl-all-reduce", image="", gangScheduler={**QUEUE, "queue": "-bad-"})
    with pytest.raises(KubectlError) as refused:
        cluster.apply(bad)
    assert "spec.image" in str(refused.value)
    assert "spec.gangScheduler.queue" in str(refused.value)
    assert cluster.kubectl.find("workloadrun", "nccl-all-reduce") is None


def test_the_seeds_example_ends_incomplete_because_an_nccl_test_has_no_training_steps(
    cluster: Cluster, eight_nodes: list[str]
) -> None:
    cluster.logs(NCCL_LOG)
    cluster.apply(sampled(example("nccl-all-reduce")))
    status = ended(cluster, "nccl-all-reduce")
    assert conditions(status)["Succeeded"] == "True"
    assert conditions(status).get("ValidationFailed") != "True"
    assert status["verdict"] == "Incomplete"
    assert any("goodput" in reason for reason in status["verdictReasons"])
    assert status["coverage"] == {"targeted": 8, "tested": 8, "excluded": 0, "inconclusive": 0}
    assert node_list(cluster, status["succeededNodesRef"]) == eight_nodes


def test_without_goodput_it_passes_and_the_measurement_holds_the_values_of_the_log(
    cluster: Cluster, eight_nodes: list[str]
) -> None:
    cluster.run_for(15)
    cluster.logs(NCCL_LOG)
    cluster.apply(sampled(example("nccl-all-reduce", goodputMeasurement=None, gangScheduler=QUEUE)))
    pods = cluster.eventually(lambda: _complete_groups(cluster), 60)
    for group, members in pods.items():
        assert {pod["metadata"]["labels"]["kai.scheduler/queue"] for pod in members} == {"high-priority"}
        assert {pod["spec"]["schedulerName"] for pod in members} == {"kai-scheduler"}
        assert {pod["spec"]["nodeName"] for pod in members} <= set(eight_nodes[4 * group : 4 * group + 4])
    status = ended(cluster, "nccl-all-reduce")
    assert (status["verdict"], conditions(status)["Succeeded"]) == ("Passed", "True")
    results = _table(NCCL_LOG)
    for measurement in cluster.kubectl.list("bandwidthmeasurements"):
        rows = {row["sizeBytes"]: row["busBandwidthGBps"] for row in measurement["status"]["results"]}
        assert rows == results
        assert measurement["status"]["summary"]["peakBusBandwidthGBps"] == max(results.values())
    assert status["results"]["busBandwidthGBps"]["median"] == max(results.values())


def _complete_groups(cluster: Cluster) -> dict[int, list[dict[str, Any]]]:
    """Pods by group, once each group has its launcher and four workers, all placed."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for pod in cluster.kubectl.list("pods"):
        job = pod["metadata"]["labels"]["cre.nvidia.com/job"]
        if pod["spec"].get("nodeName"):
            groups.setdefault(int(job.split("-g")[1].split("-")[0]), []).append(pod)
    return groups if {number: len(pods) for number, pods in groups.items()} == {0: 5, 1: 5} else {}


def _table(log: str) -> dict[int, float]:
    """Read the out-of-place bus bandwidth of every row, by eye rather than by the product's parser."""
    rows = [line.split() for line in log.splitlines()]
    return {int(row[0]): float(row[7]) for row in rows if len(row) >= 13 and row[0].isdigit() and row[3] == "sum"}


@pytest.mark.parametrize("name", ["torch-training", "exec-command"])
def test_torch_and_exec_runs_pass(cluster: Cluster, eight_nodes: list[str], name: str) -> None:
    cluster.logs(MEGATRON_LOG)
    run = sampled(example(name))
    cluster.apply(run)
    status = ended(cluster, run["metadata"]["name"])
    assert status["verdict"] == "Passed", status
    assert node_list(cluster, status["succeededNodesRef"]) == eight_nodes


def test_a_failing_node_ends_the_run_failed_and_is_the_only_one_on_the_list(
    cluster: Cluster, eight_nodes: list[str]
) -> None:
    cluster.logs("NCCL WARN Call to ibv_create_qp failed")
    cluster.fail_pods_on("gpu-0005", 3)
    run = sampled(example("torch-training"))
    cluster.apply(run)
    status = ended(cluster, run["metadata"]["name"])
    assert (status["verdict"], conditions(status)["Failed"]) == ("Failed", "True")
    blamed = node_list(cluster, status["failedNodesRef"])
    assert [(node["name"], node["reason"]) for node in blamed] == [("gpu-0005", "WorkloadFailed")]
    assert "exited with 3" in blamed[0]["message"]
    failed = [job for job in cluster.kubectl.list("jobs.cre.nvidia.com") if "failureLog" in job["status"]]
    assert "ibv_create_qp" in failed[0]["status"]["failureLog"]["tail"]


def test_a_settled_run_is_quiet(cluster: Cluster, eight_nodes: list[str], product: Product) -> None:
    cluster.logs(NCCL_LOG)
    cluster.apply(sampled(example("nccl-all-reduce", goodputMeasurement=None)))
    ended(cluster, "nccl-all-reduce")
    time.sleep(LONGEST_RESYNC_SECONDS + 5)  # a wish for another look is not taken back by what happens meanwhile
    before, calls = _objects(cluster), dict(product.driver.traffic.calls)
    time.sleep(60)
    assert _objects(cluster) == before
    made = {name: count - calls.get(name, 0) for name, count in product.driver.traffic.calls.items()}
    assert {name: count for name, count in made.items() if count > len(RESYNCED.get(name, ()))} == {}


RESYNCED = {"cre-workloadruns": ("one",), "cre-workflows": ("one",)}  # resyncPeriodSeconds 120: once at most


def _objects(cluster: Cluster) -> dict[str, Any]:
    """Return whole objects, so that a difference shows what was written."""
    kinds = "workloadruns,workflows,jobs.cre.nvidia.com,bandwidthmeasurements,configmaps,trainjobs,trainingruntimes"
    items = cluster.kubectl.list(kinds)
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in items}
