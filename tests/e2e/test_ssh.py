"""What stands between mpirun and its ranks: sshd on the workers, a probe that means it, a launcher that gives up."""

from __future__ import annotations

from typing import Any

from sync_hooks.runtimes import ssh
from tests.cluster.cluster import Cluster
from tests.cluster.run.runs import ended, node_list
from tests.e2e.images import WITHOUT_SSHD
from tests.e2e.real import RealCluster
from tests.e2e.runs import mpi, only_job, patched_runtime, pods, run, script
from tests.support.kubectl import KubectlError

SECONDS = 240
PROBE_SECONDS = 2
SHORT_WAIT_SECONDS = 20
AT_ONCE_SECONDS = 120  # usual: 15; nothing that waits in a script or is retried would be over by then
IN_A_GANG = {"schedulerName": "kai-scheduler"}  # launcher and workers start together
CONNECT = "import socket; socket.create_connection(('127.0.0.1', 22), 2)"


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def test_no_way_leads_out_of_the_pods(real: RealCluster) -> None:
    """So that a worker that becomes ready has fetched nothing."""
    for node in real.nodes:
        assert "default" not in node.run("ip", "route")


def test_a_worker_is_ready_when_ssh_works_and_not_when_its_port_is_open(cluster: Cluster) -> None:
    late = replaced(ssh.WORKER_START, "exec /usr/sbin/sshd", "/config/deaf\nexec /usr/sbin/sshd")
    worker = {"name": "node", "args": [late], "readinessProbe": {"periodSeconds": PROBE_SECONDS}}
    cluster.apply(
        run(
            "probed",
            mpi("hostname"),
            {"deaf": script("deaf")},
            overrides=[patched_runtime("probed", node={"containers": [worker]})],
        )
    )
    names = cluster.eventually(lambda: _listening(cluster), SECONDS)
    cluster.eventually(lambda: _probed_in_vain(cluster, names), SECONDS)
    assert [_ready(cluster, name) for name in names] == ["False", "False"]
    assert pods(cluster, "launcher") == []
    for name in names:
        cluster.kubectl("exec", name, "--", "touch", "/tmp/allowed")
    cluster.eventually(lambda: [_ready(cluster, name) for name in names] == ["True", "True"], SECONDS)
    assert ended(cluster, "probed", SECONDS)["verdict"] == "Passed"


def _listening(cluster: Cluster) -> list[str]:
    """Return the workers once both accept connections on port 22."""
    names = [pod["metadata"]["name"] for pod in pods(cluster, "node") if pod["status"]["phase"] == "Running"]
    try:
        for name in names:
            cluster.kubectl("exec", name, "--", "python3", "-c", CONNECT)
    except KubectlError:
        return []
    return names if len(names) == 2 else []


def _probed_in_vain(cluster: Cluster, names: list[str]) -> bool:
    """Tell whether each worker's probe has failed more than once while the port was open."""
    events = cluster.kubectl.list("events", "--field-selector=reason=Unhealthy")
    counts = dict.fromkeys(names, 0)
    for event in events:
        name = event["involvedObject"]["name"]
        if name in counts:
            counts[name] += event.get("count") or 1
    return all(count > 1 for count in counts.values())


def _ready(cluster: Cluster, name: str) -> str:
    return cluster.condition("pod", name, "Ready")


def test_a_worker_that_never_starts_fails_the_run_in_time_and_is_named(cluster: Cluster) -> None:
    hung = {
        "name": "hung",
        "image": WITHOUT_SSHD,
        "command": ["sh", "-c", '[ "$WHERE" != gpu-0001 ] || sleep 3600'],
        "env": [{"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    }
    shorter = replaced(ssh.LAUNCHER_INIT, f"+ {ssh.WAIT_LIMIT_SECONDS}))", f"+ {SHORT_WAIT_SECONDS}))")
    waiting = {"name": "fix-ssh-permissions", "args": [shorter]}
    override = patched_runtime("stuck", node={"initContainers": [hung]}, launcher={"initContainers": [waiting]})
    cluster.apply(run("stuck", mpi("hostname"), {"a": "b"}, gangScheduler=IN_A_GANG, overrides=[override]))
    [silent] = cluster.eventually(lambda: _worker_on(cluster, "gpu-0001"), SECONDS)
    status = ended(cluster, "stuck", SECONDS)
    assert status["verdict"] == "Failed"
    tail = only_job(cluster)["status"]["failureLog"]["tail"]
    assert f"no answer from host {silent}." in tail
    [blamed] = node_list(cluster, status["failedNodesRef"])
    assert (blamed["name"], silent in blamed["message"]) == ("gpu-0001", True)


def _worker_on(cluster: Cluster, node: str) -> list[str]:
    """Return the host name of the worker on a node: the pod's name without its random end."""
    found = [pod for pod in pods(cluster, "node") if pod["spec"].get("nodeName") == node]
    return [pod["metadata"]["name"].rpartition("-")[0] for pod in found]


def test_an_image_without_sshd_fails_at_once_and_says_why(cluster: Cluster) -> None:
    cluster.apply(run("bare", mpi("hostname"), {"a": "b"}, image=WITHOUT_SSHD))
    status = ended(cluster, "bare", AT_ONCE_SECONDS)
    assert status["verdict"] == "Failed"
    log: dict[str, Any] = only_job(cluster)["status"]["failureLog"]
    assert "/usr/sbin/sshd is missing: MPI workers need an image with an OpenSSH server" in log["tail"]
    assert log["exitCode"] == 1
