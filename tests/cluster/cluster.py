"""What a test holds of the control plane: kubectl, GPU nodes that do not exist, and what shall happen to pods on them.

A test has a namespace of its own and the nodes to itself; `clean` removes all that it arranged. What is arranged counts
for pods that come to that point afterwards: arrange first, then create.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from tests.cluster import stages
from tests.cluster.nodes import gpu_nodes
from tests.cluster.pki import Authority
from tests.cluster.stages import End
from tests.support.kubectl import Kubectl

Found = TypeVar("Found")


@dataclass(slots=True)
class Cluster:
    """One test's use of the running control plane."""

    folder: Path
    """The run folder: logs of all components, and what this test writes."""
    kubectl: Kubectl
    """Works in this test's namespace as a cluster administrator."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def kubeconfig(self) -> Path:
        """Credentials of a cluster administrator."""
        return self.folder / "kubeconfig"

    @property
    def namespace(self) -> str:
        """This test's own namespace."""
        return self.kubectl.namespace

    @property
    def authority(self) -> Authority:
        """The CA of this control plane, for the certificates of a test's own webhooks."""
        return Authority(self.folder / "pki")

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Apply objects server-side. Raises KubectlError with the server's words."""
        self.kubectl.apply(objects)

    def nodes(
        self, platform: str, arch: str, count: int, *, gpus: int | None = None, labels: Mapping[str, str] | None = None
    ) -> list[str]:
        """Make Ready nodes gpu-0000, gpu-0001, ... as ``PLATFORM/ARCHxN`` of the command line does."""
        objects = gpu_nodes(f"{platform}/{arch}x{count}", gpus, labels or {})
        self.kubectl.apply(objects)
        names = [node["metadata"]["name"] for node in objects]
        self.kubectl("wait", "--for=condition=Ready", "--timeout=60s", *[f"node/{name}" for name in names])
        return names

    def run_for(self, seconds: float, node: str | None = None) -> None:
        """Let pods, or only those on one node, run so long before they succeed."""
        self.apply(stages.end_on(node, End(), seconds) if node else stages.complete(seconds))

    def fail_pods_on(self, node: str, exit_code: int = 1, *, after: float = 0.5, message: str = "") -> None:
        """Let pods on a node, but launchers, fail with this exit code, so many seconds after they started to run."""
        self.apply(stages.end_on(node, End(exit_code, "Error", message), after))

    def evict_pods_on(self, node: str, *, after: float = 0.5) -> None:
        """Let pods on a node, but launchers, be evicted, so many seconds after they started to run."""
        self.apply(stages.end_on(node, stages.EVICTED, after))

    def hang_pods_on(self, node: str) -> None:
        """Let pods on a node run for ever."""
        self.apply(stages.hang_on(node))

    def stick_pods_on(
        self, node: str, reason: str = "ImagePullBackOff", message: str = "Back-off pulling image"
    ) -> None:
        """Let pods on a node stay Pending for ever."""
        self.apply(stages.stick_on(node, reason, message))

    def linger_pods_on(self, node: str, seconds: float) -> None:
        """Let pods on a node take so long to go when they are deleted."""
        self.apply(stages.linger_on(node, seconds))

    def node_not_ready(self, name: str) -> None:
        """Make a node NotReady and keep it so."""
        self.apply(stages.node_stays(name))
        condition = '{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "arranged by a test"}'
        patch = f'{{"status": {{"conditions": [{condition}]}}}}'
        self.kubectl("patch", "node", name, "--subresource=status", "--type=strategic", "-p", patch)

    def logs(
        self,
        content: str | Path,
        *,
        labels: Mapping[str, str] | None = None,
        nodes: Sequence[str] = (),
        container: str = "",
    ) -> Path:
        """Serve a log for pods with these labels, on these nodes, from this container (each left out: any).

        ``content`` is what the container prints, or a file of it. Returns the file that is served, in the container
        runtime's form: what a test appends to it (`cri`) is there at the next read.
        """
        path = self.folder / f"{self.namespace}-{next(self._numbers)}.log"
        path.write_text(cri(content.read_text() if isinstance(content, Path) else content))
        self.apply(stages.log_from(path, labels or {}, nodes, container))
        return path

    def eventually(self, look: Callable[[], Found], seconds: float = 60.0) -> Found:
        """Look until there is something to see and return it; fails with the last look where there never is."""
        deadline = time.monotonic() + seconds
        while not (seen := look()):
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s; last seen: {seen!r}"
            time.sleep(0.1)
        return seen

    def condition(self, kind: str, name: str, type_: str) -> str:
        """Return the status of a condition of an object, empty where the object or the condition is absent."""
        found = self.kubectl.find(kind, name) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return next((str(condition["status"]) for condition in conditions if condition["type"] == type_), "")

    def clean(self) -> None:
        """Remove all that this test made; pods first by force, else they would wait for nodes that are gone."""
        self.kubectl("delete", "namespace", self.namespace, "--wait=false")
        self.kubectl("delete", "stages.kwok.x-k8s.io", "--selector", f"{stages.MADE_BY_TEST}=true")
        self.apply(stages.complete(stages.RUN_SECONDS))
        self.kubectl("delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        self.kubectl("delete", "nodes", "--all")


def cri(text: str, at: datetime | None = None) -> str:
    """Write lines as a container runtime logs them: nanosecond time, stream, F(ull line), text."""
    stamp = (at or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    return "".join(f"{stamp} stdout F {line}\n" for line in text.splitlines())
