"""What a test arranges for pods and nodes happens: how long they run, where they hang, what their logs say."""

from __future__ import annotations

import time
from typing import Any

from sync_hooks.api.time import parse_rfc3339
from tests.cluster.cluster import Cluster, cri
from tests.cluster.workloads import train_job, training_runtime


def the_pod(cluster: Cluster) -> dict[str, Any]:
    [pod] = cluster.eventually(lambda: cluster.kubectl.list("pods"))
    return pod


def phase(cluster: Cluster) -> str:
    return str(the_pod(cluster)["status"]["phase"])


def start_one(cluster: Cluster) -> None:
    cluster.apply(training_runtime())
    cluster.apply(train_job("one", nodes=1))


def test_pods_run_as_long_as_asked(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 1)
    cluster.run_for(4)
    start_one(cluster)
    cluster.eventually(lambda: phase(cluster) == "Succeeded")
    state = the_pod(cluster)["status"]["containerStatuses"][0]["state"]["terminated"]
    started, finished = parse_rfc3339(state["startedAt"]), parse_rfc3339(state["finishedAt"])
    assert started is not None
    assert finished is not None
    assert 4 <= (finished - started).total_seconds() <= 10


def test_a_stuck_pod_waits_with_its_reason(cluster: Cluster) -> None:
    [node] = cluster.nodes("aws", "h100", 1)
    cluster.stick_pods_on(node, "ImagePullBackOff", "no such image")
    start_one(cluster)
    waiting = cluster.eventually(lambda: the_pod(cluster)["status"].get("containerStatuses"))[0]["state"]["waiting"]
    assert waiting == {"reason": "ImagePullBackOff", "message": "no such image"}
    assert phase(cluster) == "Pending"


def test_a_pod_without_a_node_is_unschedulable(cluster: Cluster) -> None:
    start_one(cluster)
    conditions = cluster.eventually(lambda: the_pod(cluster)["status"].get("conditions"))
    assert [(condition["type"], condition["reason"]) for condition in conditions] == [("PodScheduled", "Unschedulable")]


def test_a_deleted_pod_lingers_as_long_as_asked(cluster: Cluster) -> None:
    [node] = cluster.nodes("aws", "h100", 1)
    cluster.hang_pods_on(node)
    cluster.linger_pods_on(node, 2)
    start_one(cluster)
    cluster.eventually(lambda: phase(cluster) == "Running")
    cluster.kubectl("delete", "trainjob", "one", "--wait=false")
    cluster.eventually(lambda: "deletionTimestamp" in the_pod(cluster)["metadata"])
    asked = time.monotonic()
    cluster.eventually(lambda: not cluster.kubectl.list("pods"))
    assert time.monotonic() - asked > 1  # the poll may have been late to see that it was asked to go


def test_what_is_appended_to_a_log_is_read_next_time(cluster: Cluster) -> None:
    [node] = cluster.nodes("aws", "h100", 1)
    cluster.hang_pods_on(node)
    served = cluster.logs("first\n", labels={"batch.kubernetes.io/job-name": "one-node-0"})
    start_one(cluster)
    cluster.eventually(lambda: phase(cluster) == "Running")
    name = the_pod(cluster)["metadata"]["name"]
    assert cluster.kubectl("logs", name) == "first\n"
    with served.open("a") as log:
        log.write(cri("second\n"))
    assert cluster.kubectl("logs", name) == "first\nsecond\n"


def test_a_node_stays_not_ready(cluster: Cluster) -> None:
    good, bad = cluster.nodes("aws", "h100", 2)
    cluster.node_not_ready(bad)
    cluster.run_for(1)
    cluster.apply(training_runtime())
    ready = {name: cluster.condition("node", name, "Ready") for name in (good, bad)}
    assert ready == {good: "True", bad: "False"}


def test_nodes_are_those_of_their_platform(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 2, gpus=7)
    node = cluster.kubectl.get("node", "gpu-0001")
    assert node["spec"]["providerID"].startswith("aws://")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "7"
