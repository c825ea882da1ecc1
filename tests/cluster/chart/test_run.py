"""A run through an installed chart, to its verdict: with its CA, its token, and only the rights that it gives.

The hooks act as their ServiceAccount, the driver in Metacontroller's place as one that has the aggregated role and
nothing else, the certs container as admission's; token and certificate are replaced while a run is under way.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.authority import KeyPair
from certs.credentials import Stage
from certs.files import store
from certs.replicas import Endpoint, accepting, serving
from certs.rotator import Rotator
from certs.situation import Seen
from tests.cluster import processes
from tests.cluster.chart import servers
from tests.cluster.chart.release import ASKED, CHART, CLUSTER_KINDS, INSTANCE, NAME, Release
from tests.cluster.driver import Driver
from webhook.profiles import ProfileInstaller

USER = "metacontroller"
KUBELET_SECONDS = 1.0
WITHOUT_PODS = ("admission.replicas=0", "hooks.replicas=0")


def metacontroller(release: Release, folder: Path) -> Path:
    """Write a kubeconfig of somebody who has the role for Metacontroller and no other."""
    kubectl = release.cluster.kubectl
    role = f"{NAME}-metacontroller"
    kubectl("create", "clusterrolebinding", USER, f"--clusterrole={role}", f"--user={USER}")
    identity = release.cluster.authority.issue(USER, USER, folder=folder)
    config: dict[str, Any] = yaml.safe_load(release.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {
        "client-certificate": str(identity.certificate),
        "client-key": str(identity.key),
    }
    path = folder / "metacontroller.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


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
    stop = threading.Event()

    def bring() -> None:
        secret = release.cluster.kubectl.find("secret", f"{NAME}-tls") or {}
        data = secret.get("data", {})
        if not {"tls.crt", "tls.key", "tokens"} <= data.keys():
            return  # what was mounted stays, until there is all of it again
        found = {key: base64.b64decode(value) for key, value in data.items()}
        store(folder, KeyPair(found["tls.crt"], found["tls.key"]))
        (folder / "tokens.new").write_bytes(found["tokens"])
        (folder / "tokens.new").replace(folder / "tokens")

    def keep() -> None:
        while not stop.wait(KUBELET_SECONDS):
            bring()

    folder.mkdir()
    bring()
    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def looking(rotator: Rotator) -> Iterator[None]:
    """Let a rotator look again and again."""
    stop, trouble = threading.Event(), []

    def look() -> None:
        while not stop.wait(0.3):
            try:
                rotator.look()
            except Exception as error:
                trouble.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert trouble == []


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


@pytest.fixture
def installed(release3: Release, tmp_path: Path) -> Iterator[Installed]:
    release3.install(*WITHOUT_PODS)
    release3.cluster.nodes("aws", "h100", 2)
    admission, hooks = processes.free_ports(2)
    addresses = {f"{NAME}-hooks.{release3.cluster.namespace}.svc": f"127.0.0.1:{hooks}"}
    try:
        with Driver(metacontroller(release3, tmp_path), addresses) as driver:
            yield Installed(release3, driver, tmp_path, admission, hooks)
    finally:
        release3.cluster.kubectl("delete", "clusterrolebinding", USER)


def test_runs_end_in_a_verdict_while_token_and_certificates_rotate(installed: Installed) -> None:
    release, cluster = installed.release, installed.release.cluster
    cluster.run_for(2)
    with installed.pods() as rotator, looking(rotator):
        assert ProfileInstaller(rotator.api, CHART / "profiles").install()
        cluster.apply({**ASKED, "metadata": {"name": "first"}})
        cluster.kubectl("annotate", "secret", f"{NAME}-tls", "cre.nvidia.com/rotate=now")
        assert verdict(release, "first") == "Passed"
        cluster.eventually(lambda: rotated(rotator))
        cluster.apply({**ASKED, "metadata": {"name": "second"}})
        assert verdict(release, "second") == "Passed"
    texts = [event["message"] for event in cluster.kubectl.list("events") if event["reason"] == "SyncError"]
    assert [text for text in texts if "401" in text or "certificate" in text] == []


def test_a_run_survives_that_the_chart_goes_and_comes_again(installed: Installed) -> None:
    release, cluster = installed.release, installed.release.cluster
    cluster.run_for(20)
    with installed.pods("before"):
        cluster.apply({**ASKED, "metadata": {"name": "survivor"}})
        cluster.eventually(lambda: cluster.kubectl.list("trainjobs"))
        release.uninstall()
    cluster.eventually(lambda: not release.left())
    assert cluster.condition("workloadrun", "survivor", "InProgress") == "True"
    release.install(*WITHOUT_PODS)
    with installed.pods("after"):
        assert verdict(release, "survivor") == "Passed"


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_a_run_that_nobody_looks_after_any_more_can_be_deleted(installed: Installed, cascade: str) -> None:
    release, cluster = installed.release, installed.release.cluster
    with_a_run_under_way(installed)
    release.uninstall()
    cluster.kubectl("delete", "workloadrun", "alive", f"--cascade={cascade}", "--timeout=60s")
    kinds = "workflows.cre.nvidia.com,jobs.cre.nvidia.com,trainjobs,trainingruntimes,jobsets,pods"
    cluster.eventually(lambda: not cluster.kubectl("get", kinds, "--output=name", "--ignore-not-found"))


def test_a_namespace_goes_with_its_runs_and_the_chart_in_it(installed: Installed) -> None:
    cluster = installed.release.cluster
    with_a_run_under_way(installed)
    cluster.kubectl("delete", "namespace", cluster.namespace, "--timeout=90s")
    cluster.kubectl("create", "namespace", cluster.namespace)  # for the fixtures to clean
    cluster.kubectl("delete", CLUSTER_KINDS, "--selector", INSTANCE)


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


def rotated(rotator: Rotator) -> bool:
    """Tell whether both rotations are over."""
    known = rotator.remembered
    assert known
    return known.tokens.current == 2 and {known.certificates.stage, known.tokens.stage} == {Stage.STEADY}
