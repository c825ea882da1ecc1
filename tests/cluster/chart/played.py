"""An installed chart whose pods are played: both servers and the certs container, with the rights of their accounts.

Pods do not run on this control plane. The driver in Metacontroller's place has the role for that and nothing else.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from certs.authority import KeyPair
from certs.files import store
from certs.replicas import Endpoint, accepting, serving
from certs.rotator import Rotator
from certs.situation import Seen
from tests.cluster import processes
from tests.cluster.chart import servers
from tests.cluster.chart.release import ASKED, METACONTROLLER, NAME, Release
from tests.cluster.driver import Driver
from tests.cluster.repeating import repeating

KUBELET_SECONDS = 1.0
WITHOUT_PODS = ("admission.replicas=0", "hooks.replicas=0")


class Pods:
    """The one pod of each part."""

    def __init__(self, admission: int, hooks: int, names: tuple[str, ...]) -> None:
        self._admission = Endpoint("127.0.0.1", admission, names[0])
        self._hooks = Endpoint("127.0.0.1", hooks, names[1])

    def serving(self, certificate: bytes) -> Seen:
        return serving([self._admission, self._hooks], certificate)

    def accepting(self, token: str, trusted: bytes) -> Seen:
        return accepting([self._hooks], token, trusted)


@contextmanager
def kubelet(release: Release, folder: Path) -> Iterator[None]:
    """Bring the Secret to the hooks' pod, some time after it has changed, as often as it does."""

    def bring() -> None:
        secret = release.cluster.kubectl.find("secret", f"{NAME}-tls") or {}
        data = secret.get("data", {})
        if not {"tls.crt", "tls.key", "tokens"} <= data.keys():
            return  # what was mounted stays, until there is all of it again
        found = {key: base64.b64decode(value) for key, value in data.items()}
        store(folder, KeyPair(found["tls.crt"], found["tls.key"]))
        (folder / "tokens.new").write_bytes(found["tokens"])
        (folder / "tokens.new").replace(folder / "tokens")

    folder.mkdir()
    bring()
    with repeating(bring, KUBELET_SECONDS):
        yield


@contextmanager
def looking(rotator: Rotator) -> Iterator[None]:
    """Let a rotator look again and again."""
    with repeating(rotator.look, 0.3):
        yield


@dataclass(frozen=True, slots=True)
class Installed:
    """A release whose pods this test plays, and a driver that calls them in Metacontroller's place."""

    release: Release
    driver: Driver
    folder: Path
    admission: int
    hooks: int

    @contextmanager
    def pods(self, name: str = "pods") -> Iterator[Rotator]:
        """Run one pod of each part, with the rights of their accounts, until the context ends."""
        folder = self.folder / name
        folder.mkdir()
        rotator = self._rotator(folder / "admission")
        rotator.look()
        rights = {
            "KUBECONFIG": str(self.release.credentials("hooks", folder)),
            "WORKLOADRUN_TOKEN_FILE": str(folder / "hooks" / "tokens"),
        }
        with ExitStack() as stack:
            stack.enter_context(kubelet(self.release, folder / "hooks"))
            stack.enter_context(servers.serving(folder / "admission", "admission", "admission", self.admission))
            stack.enter_context(servers.serving(folder / "hooks", "hooks", "hooks", self.hooks, rights))
            self.release.call_by_address(self.admission)
            self.release.cluster.eventually(self.release.admits)
            yield rotator

    def _rotator(self, folder: Path) -> Rotator:
        """Return the rotator beside admission, which is called by its address here."""
        settings = self.release.rotation(folder).settings
        pods = Pods(self.admission, self.hooks, settings.names)
        known = replace(settings, names=(*settings.names, "127.0.0.1"), settle=timedelta(seconds=1))
        return replace(self.release.rotator(folder, replicas=pods), settings=known)


@contextmanager
def played(release: Release, folder: Path) -> Iterator[Installed]:
    """Install a release and start its driver until the context ends; the pods are `Installed.pods`."""
    release.install(*WITHOUT_PODS)
    release.cluster.nodes("aws", "h100", 2)
    admission, hooks = processes.free_ports(2)
    addresses = {f"{NAME}-hooks.{release.cluster.namespace}.svc": f"127.0.0.1:{hooks}"}
    try:
        with Driver(release.metacontroller(folder), addresses) as driver:
            yield Installed(release, driver, folder, admission, hooks)
    finally:
        release.cluster.kubectl("delete", "clusterrolebinding", METACONTROLLER)


def with_a_run_under_way(installed: Installed) -> None:
    """Leave a run whose pods run, and nobody who answers for it."""
    cluster = installed.release.cluster
    cluster.run_for(600)
    with installed.pods():
        cluster.apply({**ASKED, "metadata": {"name": "alive"}})
        cluster.eventually(lambda: cluster.kubectl.list("pods"))


def verdict(release: Release, name: str) -> str:
    """Wait for a run's end."""

    def look() -> str:
        return str(release.cluster.kubectl.get("workloadrun", name).get("status", {}).get("verdict", ""))

    return release.cluster.eventually(look, 120)
