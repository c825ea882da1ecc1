"""A TrainJob under test: made, run to its end, and looked at."""

from __future__ import annotations

from cli.simulator.entry import Entry, Object
from cli.simulator.kinds import CORE, TRAINER
from cli.simulator.scenario import Rule
from cli.simulator.simulation import Simulation
from tests.cli.simulator.cluster import Hooks, simulation, train_job, training_runtime

NODES = ("gpu-0000", "gpu-0001")


def cluster_of(*rules: Rule, mpi: bool = False, gpus: int = 8) -> Simulation:
    cluster = simulation(Hooks({}), [], rules=rules)
    cluster.store.create(training_runtime(mpi=mpi, gpus=gpus))
    return cluster


def ran(cluster: Simulation, name: str = "job-w0", *, nodes: tuple[str, ...] = NODES, mpi: bool = False) -> Simulation:
    cluster.store.create(train_job(name, nodes, mpi=mpi))
    cluster.run(3600)
    return cluster


def job_of(cluster: Simulation, name: str = "job-w0") -> Object:
    return cluster.store.get(TRAINER, "TrainJob", "default", name).obj


def pods(cluster: Simulation) -> list[Entry]:
    return cluster.store.select(CORE, "Pod")


def states(cluster: Simulation) -> dict[str, str]:
    """Phase of each pod by replicatedJob and index."""
    return {entry.name.split("-", 2)[2][:-6]: entry.obj["status"]["phase"] for entry in pods(cluster)}


def patched(job: Object) -> Object:
    spec = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    replicated: Object = spec["replicatedJobs"][0]
    return replicated


def containers(job: Object, container: Object) -> None:
    patched(job)["template"]["spec"]["template"]["spec"]["containers"] = [container]
