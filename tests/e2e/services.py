"""Addresses of Services in the sandbox: a kube-proxy on each node, and one where the control plane runs.

So pods find the API server where Kubernetes says it is, and what stands in for Metacontroller calls the hooks' Service.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cluster.components import Run, write_yaml
from tests.cluster.processes import start
from tests.e2e.network import PODS
from tests.e2e.node import Node

PROXY = "kube-proxy"


def start_proxies(run: Run, nodes: tuple[Node, ...]) -> None:
    """Start all of them, once the nodes are registered: a kube-proxy acts for a Node."""
    for node in nodes:
        start(node.folder, PROXY, node.inside(*_command(run, node.folder, node.name)))
    # beside the control plane there is no kubelet and so no Node; the name only matters for traffic that stays on one
    start(run.folder, PROXY, _command(run, run.folder, nodes[0].name))


def _command(run: Run, folder: Path, node: str) -> list[str]:
    configuration = folder / "kube-proxy.yaml"
    write_yaml(configuration, _configuration(run, node))
    return [run.binary("kube-proxy"), f"--config={configuration}"]


def _configuration(run: Run, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(run.kubeconfig)},
        "hostnameOverride": node,
        "mode": "iptables",
        "clusterCIDR": PODS,
        "detectLocalMode": "ClusterCIDR",
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},  # the machine's own
    }
