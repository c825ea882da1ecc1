"""The control plane does what real clusters do: TrainJobs run through Trainer, JobSet, Job and pods to their end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.workloads import train_job, training_runtime
from tests.support.kubectl import KubectlError


def pods(cluster: Cluster, phase: str) -> list[dict[str, Any]]:
    return [pod for pod in cluster.kubectl.list("pods") if pod.get("status", {}).get("phase") == phase]


def test_a_train_job_of_two_nodes_completes(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 3)
    cluster.apply(training_runtime())
    cluster.apply(train_job("pair"))
    cluster.eventually(lambda: cluster.condition("trainjob", "pair", "Complete") == "True")
    assert len({pod["spec"]["nodeName"] for pod in cluster.kubectl.list("pods")}) == 2


def test_trainer_refuses_a_train_job_whose_runtime_is_missing(cluster: Cluster) -> None:
    with pytest.raises(KubectlError, match="must be created before the TrainJob"):
        cluster.apply(train_job("early", runtime="absent"))


def test_kubectl_logs_returns_the_file_that_is_served(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 2)
    cluster.logs("first of all\n")
    cluster.logs("only for gpu-0001\n", nodes=["gpu-0001"])
    cluster.apply(training_runtime())
    cluster.apply(train_job("pair"))
    cluster.eventually(lambda: cluster.condition("trainjob", "pair", "Complete") == "True")
    logs = {
        pod["spec"]["nodeName"]: cluster.kubectl("logs", pod["metadata"]["name"])
        for pod in cluster.kubectl.list("pods")
    }
    assert logs == {"gpu-0000": "first of all\n", "gpu-0001": "only for gpu-0001\n"}


def test_pods_for_kai_scheduler_are_placed(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 2)
    cluster.apply(training_runtime("gang", scheduler="kai-scheduler"))
    cluster.apply(train_job("pair", runtime="gang"))
    cluster.eventually(lambda: cluster.condition("trainjob", "pair", "Complete") == "True")
    assert {pod["spec"]["schedulerName"] for pod in cluster.kubectl.list("pods")} == {"kai-scheduler"}


def test_a_pod_that_fails_on_one_node_fails_the_train_job(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 2)
    cluster.hang_pods_on("gpu-0000")
    cluster.fail_pods_on("gpu-0001", 137, message="killed")
    cluster.apply(training_runtime())
    cluster.apply(train_job("pair"))
    cluster.eventually(lambda: cluster.condition("trainjob", "pair", "Failed") == "True")
    [failed] = pods(cluster, "Failed")
    assert failed["spec"]["nodeName"] == "gpu-0001"
    state = failed["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"], state["message"]) == (137, "Error", "killed")


def test_an_evicted_pod_fails_the_train_job(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 2)
    cluster.hang_pods_on("gpu-0000")
    cluster.evict_pods_on("gpu-0001")
    cluster.apply(training_runtime())
    cluster.apply(train_job("pair"))
    cluster.eventually(lambda: cluster.condition("trainjob", "pair", "Failed") == "True")
    assert [pod["status"]["reason"] for pod in pods(cluster, "Failed")] == ["Evicted"]
