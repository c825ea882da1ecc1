"""One real node: namespaces of its own, containerd and a kubelet in them, images imported.

Each has its own /var and /run, so that programs find everything where it usually is and nodes do not see each other.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.components import write_yaml
from tests.cluster.processes import start, stop, wait_until
from tests.e2e.images import WITHOUT_SSHD
from tests.e2e.network import SWITCH_ADDRESS, node_address, pod_range

SOCKET = "/run/containerd/containerd.sock"
IMPORT_SECONDS = 300
_HOLD = 'mount --bind "$0/var" /var && mount -t tmpfs tmpfs /run && touch "$0/held" && exec sleep infinity'


@dataclass(frozen=True, slots=True)
class Node:
    """Where a node's things are and who it is."""

    name: str
    index: int
    folder: Path
    provider_id: str
    group: str
    """Its control group."""

    def inside(self, *command: str) -> list[str]:
        """Return the command that runs another one in this node's namespaces."""
        return ["nsenter", f"--target={self.holder}", "--net", "--mount", "--", *command]

    @property
    def holder(self) -> int:
        """PID of the process that holds the namespaces open."""
        return int((self.folder / "holder.pid").read_text())

    def run(self, *command: str, seconds: float = 60) -> str:
        """Run a command on the node and return what it prints."""
        done = subprocess.run(self.inside(*command), capture_output=True, text=True, timeout=seconds, check=False)
        assert done.returncode == 0, f"{self.name}: {shlex.join(command)}: {done.stderr}"
        return done.stdout


def hold(node: Node) -> None:
    """Make the node's namespaces; raises StartFailed where the machine does not allow them."""
    for path in ("lib", "log", "tmp", "cache"):
        (node.folder / "var" / path).mkdir(parents=True)
    (node.folder / "var" / "run").symlink_to("/run")
    start(node.folder, "holder", ["unshare", "--mount", "--net", "--", "sh", "-c", _HOLD, str(node.folder)])
    wait_until((node.folder / "held").exists, node.folder, "holder")


def start_runtime(node: Node, archive: Path) -> None:
    """Start containerd and import the images."""
    cni = node.folder / "cni"
    cni.mkdir()
    (cni / "10-pods.conflist").write_text(json.dumps(_pod_network(node)))
    configuration = node.folder / "containerd.toml"
    configuration.write_text(_CONTAINERD.format(image=WITHOUT_SSHD, cni=cni))
    tomllib.loads(configuration.read_text())
    start(node.folder, "containerd", node.inside("containerd", f"--config={configuration}"))
    wait_until(lambda: _ctr(node, ["version"]), node.folder, "containerd")
    node.run("ctr", "--address", SOCKET, "--namespace=k8s.io", "images", "import", str(archive), seconds=IMPORT_SECONDS)


def start_kubelet(node: Node, kubelet: str, kubeconfig: Path, client_ca: Path) -> None:
    """Start the kubelet; it registers the node by itself."""
    configuration = node.folder / "kubelet.yaml"
    write_yaml(configuration, _kubelet(node, client_ca))
    words = [kubelet, f"--config={configuration}", f"--kubeconfig={kubeconfig}"]
    words += [f"--hostname-override={node.name}", f"--node-ip={node_address(node.index)}"]
    start(node.folder, "kubelet", node.inside(*words))


def stop_processes(folder: Path) -> None:
    """Stop a node's kubelet and runtime; pods that still run end with the sandbox."""
    for name in ("kube-proxy", "kubelet", "containerd", "holder"):
        stop(folder, [name])


def _ctr(node: Node, words: Sequence[str]) -> bool:
    command = node.inside("ctr", "--address", SOCKET, *words)
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _pod_network(node: Node) -> dict[str, Any]:
    ranges = [[{"subnet": pod_range(node.index)}]]
    bridge = {
        "type": "bridge",
        "bridge": "pods",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


_CONTAINERD = """\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  # where the machine itself is confined, a process may not lower its oom_score_adj, and runc would give up
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cni}"
"""


def _kubelet(node: Node, client_ca: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "providerID": node.provider_id,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(client_ca)},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",  # there may be no systemd, and the groups go when the sandbox does
        "cgroupRoot": f"/{node.group}",  # two kubelets in one hierarchy would end each other's pods
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": False,  # kube-proxy makes what it needs
        "clusterDNS": [SWITCH_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "evictionHard": {"imagefs.available": "0%", "nodefs.available": "0%", "memory.available": "10Mi"},
        "imageGCHighThresholdPercent": 100,  # nothing could bring an image back
        "readOnlyPort": 0,
    }
