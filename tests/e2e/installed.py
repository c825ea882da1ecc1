"""The chart on the real nodes: installed by Helm with the image that was made here, and its pods in service.

The driver stands in for Metacontroller: it has the role that the chart gives to that, and calls the hooks' Service.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tests.cluster import devices
from tests.cluster.chart.release import METACONTROLLER, NAME, Release
from tests.cluster.cluster import Cluster
from tests.cluster.driver import Driver
from tests.e2e import product_image
from tests.e2e.real import RealCluster

NAMESPACE = "cre-system"
HOOKS = f"{NAME}-hooks"
PARTS = (f"{NAME}-admission", HOOKS)
MODEST = ("admission", "hooks", "tls")  # a launcher of MPI asks for two processors, and a node may have no more
ROLLOUT = "--timeout=180s"
START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Product:
    """What is installed, and the driver that calls it."""

    release: Release
    driver: Driver
    hooks: str
    """Where the hooks' Service listens: host:port."""


@contextmanager
def installed(real: RealCluster) -> Iterator[Product]:
    """Install the chart and start the driver until the context ends; then nothing of the release may be left."""
    release = _install(real)
    try:
        wait_for_pods(release)
        hooks = f"{release.cluster.kubectl.get('service', HOOKS)['spec']['clusterIP']}:443"
        release.cluster.eventually(release.admits, START_SECONDS)
        release.cluster.eventually(lambda: release.cluster.kubectl.list("logprofiles"), START_SECONDS)
        with Driver(release.metacontroller(real.folder), {f"{HOOKS}.{NAMESPACE}.svc": hooks}) as driver:
            yield Product(release, driver, hooks)
    finally:
        release.uninstall()
        release.cluster.kubectl("delete", "clusterrolebinding", METACONTROLLER, "--ignore-not-found")
    release.cluster.eventually(lambda: not release.left(), START_SECONDS)


def wait_for_pods(release: Release) -> None:
    """Wait until the pods that are wanted are there, answer, and have no others beside them."""
    for part in PARTS:
        release.cluster.kubectl("rollout", "status", f"deployment/{part}", ROLLOUT)


def image() -> tuple[str, str]:
    """Return repository and tag of the image."""
    return product_image.REPOSITORY, product_image.tag(product_image.made())


def values() -> list[str]:
    """Return the values by which the nodes find the image, and have room for what it is to judge."""
    repository, tag = image()
    found = [f"image.repository={repository}", f"image.tag={tag}", "image.pullPolicy=Never"]
    return [*found, *[f"{part}.resources.requests.cpu=0" for part in MODEST]]


def _install(real: RealCluster) -> Release:
    real.kubectl.apply(
        [devices.definition()]
    )  # so that Jobs with storage or devices of their own find their controller
    real.kubectl.wait_for_definitions(devices.NAME)
    kubectl = replace(real.kubectl, namespace=NAMESPACE)
    kubectl("create", "namespace", NAMESPACE)
    release = Release(Cluster(real.run.folder, kubectl), real.run.tools / "bin" / "helm4")
    release.install(*values())
    return release
