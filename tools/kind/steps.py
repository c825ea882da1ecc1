"""The commands of `make kind`, in their order, as data: what is run, and why. Runs none of them.

Everything but the product comes as its own project publishes it, at the versions that the product is tested against.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.simulator.inventory import make
from sync_hooks.api.names import GPU
from tests.cluster.versions import version_of

ROOT = Path(__file__).parents[2]
HERE = "tools/kind"
CLUSTER = "workloadrun"
IMAGE = "workloadrun:dev"  # run.yaml runs it too
CONTEXT = f"kind-{CLUSTER}"
NAMESPACE = "workloadrun"
RUN = "kind"
WORKERS = (f"{CLUSTER}-worker", f"{CLUSTER}-worker2")
PROGRAMS = ("docker", "kind", "kubectl", "helm")

METACONTROLLER = ("oci://ghcr.io/metacontroller/metacontroller-helm", "4.17.2")
METACONTROLLER_FLAGS = (
    "--zap-log-level=4",
    "--discovery-interval=20s",
    "--cache-flush-interval=30m",
    "--health-probe-bind-address=:8081",
    "--workers=32",
    "--client-go-qps=200",
    "--client-go-burst=400",
)
TRAINER = "oci://ghcr.io/kubeflow/charts/kubeflow-trainer"
TIMEOUT = "5m"

GPUS = "1"


@dataclass(frozen=True, slots=True)
class Step:
    """One command, from the root of the tree."""

    why: str
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """What is run."""
        return self.words[0]


def up() -> list[Step]:
    """Return all commands from nothing to a run's verdict."""
    return [
        Step("build the image", ("docker", "build", f"--tag={IMAGE}", ".")),
        Step("make the cluster", ("kind", "create", "cluster", f"--config={HERE}/cluster.yaml", f"--wait={TIMEOUT}")),
        Step("bring the image to its nodes", ("kind", "load", "docker-image", IMAGE, f"--name={CLUSTER}")),
        *_pretend(),
        Step("install Metacontroller", _install("metacontroller", *METACONTROLLER, "metacontroller", _flags())),
        Step(
            "install Trainer, which brings JobSet", _install("kubeflow-trainer", TRAINER, _trainer(), "kubeflow-system")
        ),
        Step("install the product", _install("workloadrun", "charts/workloadrun", "", NAMESPACE, *_values())),
        Step("run it on every node", ("kubectl", f"--context={CONTEXT}", "apply", f"--filename={HERE}/run.yaml")),
        Step("wait for the verdict", _wait()),
    ]


def down() -> list[Step]:
    """Return the command that removes the cluster and all that is in it."""
    return [Step("remove the cluster", ("kind", "delete", "cluster", f"--name={CLUSTER}"))]


def _pretend() -> Iterator[Step]:
    """Give the workers the labels of GPU nodes, and a GPU that nobody looks for."""
    for name, item in zip(WORKERS, make(f"onprem/h100x{len(WORKERS)}"), strict=True):
        labels = {
            key: value for key, value in item["metadata"]["labels"].items() if not key.startswith("kubernetes.io/")
        }
        words = ("kubectl", f"--context={CONTEXT}")
        said = [f"{key}={value}" for key, value in {**labels, f"{GPU}.count": GPUS}.items()]
        yield Step(f"say that {name} has a GPU", (*words, "label", "--overwrite", "node", name, *said))
        patch = json.dumps({"status": {"capacity": {GPU: GPUS}, "allocatable": {GPU: GPUS}}})
        yield Step(
            "and let it be asked for", (*words, "patch", "node", name, "--subresource=status", f"--patch={patch}")
        )


def _install(name: str, chart: str, version: str, namespace: str, *more: str) -> tuple[str, ...]:
    where = (f"--kube-context={CONTEXT}", f"--namespace={namespace}", "--create-namespace")
    pinned = (f"--version={version}",) if version else ()
    return ("helm", "upgrade", "--install", name, chart, *pinned, *where, "--wait", f"--timeout={TIMEOUT}", *more)


def _flags() -> str:
    return f"--set=commandArgs={{{','.join(METACONTROLLER_FLAGS)}}}"


def _values() -> Iterator[str]:
    repository, _, tag = IMAGE.rpartition(":")
    yield from (f"--set=image.repository={repository}", f"--set=image.tag={tag}", "--set=image.pullPolicy=Never")


def _trainer() -> str:
    return version_of("trainer").removeprefix("v")


def _wait() -> tuple[str, ...]:
    verdict = "--for=jsonpath={.status.verdict}=Passed"
    return ("kubectl", f"--context={CONTEXT}", "wait", verdict, f"workloadrun/{RUN}", f"--timeout={TIMEOUT}")
