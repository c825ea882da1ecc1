"""Runs for the real nodes, their scripts brought along as configuration, and what is read of them afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.e2e.images import MPI
from tests.e2e.real import RealCluster

Object = dict[str, Any]
SCRIPTS = Path(__file__).parent / "scripts"
STORAGE_CLASS = "shared"


def run(name: str, framework: Mapping[str, Any], scripts: Mapping[str, str], **fields: Any) -> Object:
    """Return a WorkloadRun on both nodes; ``scripts`` are files of /config."""
    spec = {"image": MPI, "framework": framework, "numNodes": 2, "config": {"inline": dict(scripts)}, **fields}
    return {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "WorkloadRun", "metadata": {"name": name}, "spec": spec}


def script(name: str) -> str:
    """Read one of the scripts of this folder."""
    return (SCRIPTS / name).read_text()


def mpi(program: str, mpirun: str = "/usr/bin/mpirun") -> Object:
    """Return the framework mpi with a program."""
    return {"mpi": {"binary": program, "mpirunPath": mpirun}}


def shared_volume(real: RealCluster, name: str) -> Object:
    """Return a volume that claims of the storage class bind to, writable by all nodes."""
    folder = real.storage / name
    folder.mkdir(exist_ok=True)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": STORAGE_CLASS,
            "hostPath": {"path": str(folder), "type": "Directory"},
        },
    }


def patched_runtime(run_name: str, **jobs: Object) -> Object:
    """Return an override that lays pod specs over the replicatedJobs of a run's TrainingRuntime."""
    replicated = [{"name": job, "template": {"spec": {"template": {"spec": spec}}}} for job, spec in jobs.items()]
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": f"{run_name}-runtime"},
        "spec": {"template": {"spec": {"replicatedJobs": replicated}}},
    }
    return {"dependencies": [runtime]}


def pods(cluster: Cluster, replicated_job: str) -> list[Object]:
    """Return the pods of a replicatedJob."""
    return cluster.kubectl.list("pods", f"--selector=jobset.sigs.k8s.io/replicatedjob-name={replicated_job}")


def logs_of(cluster: Cluster, replicated_job: str, marker: str, *, count: int = 1) -> list[str]:
    """Return the logs of a replicatedJob's pods once so many of them hold the marker: they go with the TrainJob."""
    ran = [pod for pod in pods(cluster, replicated_job) if pod["status"]["phase"] in ("Running", "Succeeded")]
    logs = [cluster.kubectl("logs", pod["metadata"]["name"]) for pod in ran]
    found = [log for log in logs if marker in log]
    return found if len(found) == count else []


def only_job(cluster: Cluster) -> Object:
    """Return the one Job of the test's run."""
    [job] = cluster.kubectl.list("jobs.cre.nvidia.com")
    return job
