"""A real cluster in the sandbox: tests/cluster's control plane without KWOK, CoreDNS, kube-proxy, and two real nodes.

GPUs and fabric are made up: the nodes' labels and status say what `--nodes aws/h100x2` would.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cli.simulator.entry import Object
from cli.simulator.inventory import make
from sync_hooks.api.names import GPU
from tests.cluster import build, controlplane
from tests.cluster.components import Run, Settings
from tests.cluster.processes import start, stop, wait_until
from tests.e2e import product_image
from tests.e2e.network import SWITCH_ADDRESS, make_switch, plug_in
from tests.e2e.node import Node, hold, start_kubelet, start_runtime, stop_processes
from tests.e2e.sandbox import make_group
from tests.e2e.services import PROXY, start_proxies
from tests.support.kubectl import Kubectl

INVENTORY = "aws/h100x2"
GPU_COUNT = "nvidia.com/gpu.count"
GPUS = "2"  # and so two ranks a node: each costs a process of a machine that is small
REGISTER_SECONDS = 120.0
CONTROL_PLANE = "control-plane"
OF_THE_MACHINE = ("cpu", "memory", "pods")  # the kubelet knows them


@dataclass(frozen=True, slots=True)
class RealCluster:
    """What runs."""

    folder: Path
    run: Run
    nodes: tuple[Node, ...]
    kubectl: Kubectl

    @property
    def storage(self) -> Path:
        """A folder that all nodes see: it stands for storage that many nodes can write to."""
        return self.folder / "storage"


def start_cluster(folder: Path, group: str) -> RealCluster:
    """Start everything in an empty folder and return when all nodes are ready."""
    make_switch()
    run = Run(
        folder / CONTROL_PLANE,
        build.ensure(["test", "node", "chart"]),
        Settings(address=SWITCH_ADDRESS, endpoints="lease", kwok=False),
    )
    run.folder.mkdir()
    (folder / "storage").mkdir(mode=0o777)
    made = make(INVENTORY)
    nodes = tuple(_node(folder, group, index, item) for index, item in enumerate(made))
    with ThreadPoolExecutor() as pool:
        runtimes = pool.map(lambda node: _start_runtime(node, len(nodes)), nodes)
        controlplane.start_all(run)
        list(runtimes)
    _start_names(run)
    kubectl = Kubectl(run.kubeconfig, run.binary("kubectl"))
    for node, item in zip(nodes, made, strict=True):
        start_kubelet(node, run.binary("kubelet"), run.kubeconfig, run.pki / "ca.crt")
        _wait_for_node(kubectl, node)
        _pretend(kubectl, item)
    kubectl("wait", "--for=condition=Ready", f"--timeout={REGISTER_SECONDS:.0f}s", "node", "--all")
    start_proxies(run, nodes)
    return RealCluster(folder, run, nodes, kubectl)


def stop_cluster(folder: Path) -> None:
    """Stop what was started; whatever a component has started itself ends with the sandbox."""
    for held in sorted(folder.glob("*/holder.pid")):
        stop_processes(held.parent)
    stop(folder / CONTROL_PLANE, ["coredns", PROXY])
    controlplane.stop_all(folder / CONTROL_PLANE)


def _node(folder: Path, group: str, index: int, item: Object) -> Node:
    name = item["metadata"]["name"]
    return Node(name, index, folder / name, item["spec"]["providerID"], f"{group}/{name}")


def _start_runtime(node: Node, count: int) -> None:
    make_group(node.group)
    hold(node)
    plug_in(node.index, count, node.holder)
    start_runtime(node, product_image.made())


def _start_names(run: Run) -> None:
    """Start CoreDNS: pods find each other by the names of JobSet's headless Service."""
    block = f"bind {SWITCH_ADDRESS}\n  kubernetes cluster.local {{\n    kubeconfig {run.kubeconfig}\n    ttl 1\n  }}\n"
    (run.folder / "Corefile").write_text(f".:53 {{\n  {block}}}\n")
    start(run.folder, "coredns", [run.binary("coredns"), "-conf", f"{run.folder}/Corefile"])


def _wait_for_node(kubectl: Kubectl, node: Node) -> None:
    wait_until(lambda: kubectl.find("node", node.name) is not None, node.folder, "kubelet", REGISTER_SECONDS)


def _pretend(kubectl: Kubectl, item: Object) -> None:
    """Give a node the labels and the extended resources of its platform."""
    name, labels = item["metadata"]["name"], {**item["metadata"]["labels"], GPU_COUNT: GPUS}
    amounts = {key: value for key, value in item["status"]["allocatable"].items() if key not in OF_THE_MACHINE}
    amounts[GPU] = GPUS
    kubectl("label", "--overwrite", "node", name, *[f"{key}={value}" for key, value in labels.items()])
    patch = json.dumps({"status": {"capacity": amounts, "allocatable": amounts}})
    kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", patch)
