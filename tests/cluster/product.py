"""The product on the control plane: CRDs, LogProfiles, both servers as gunicorn runs them, hooks called by the driver.

Everything listens on loopback and is stopped by its own pid.
"""

from __future__ import annotations

import base64
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from cli.simulator.simulation import product_controllers
from tests.cluster import processes
from tests.cluster.driver import Driver
from tests.cluster.pki import Authority
from tests.support.kubectl import Kubectl

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "workloadrun"
ADDRESS = "127.0.0.1"
NAMESPACE = "cre-system"
TOKEN_SECRET = "hooks-token"
SERVERS = ("admission", "hooks")
WRITTEN_BY_PEOPLE = ("workloadruns", "logprofiles")
WRITTEN = ("workloadruns", "workflows", "jobs", "bandwidthmeasurements", "goodputmeasurements", "logprofiles")
BYPASS = "tests.cre.nvidia.com/no-admission"  # label of namespaces whose objects no webhook sees


@dataclass(frozen=True, slots=True)
class Product:
    """What runs, and the driver that calls it."""

    folder: Path
    driver: Driver
    ports: dict[str, int]
    kubeconfig: Path
    """How the servers reach the API."""

    def log(self, server: str) -> str:
        """Return what a server has logged."""
        return (self.folder / f"{server}.log").read_text()

    def kill(self, server: str) -> None:
        """End a server at once, its workers with it, whatever they are at; returns when nobody listens any more."""
        processes.kill(self.folder, server)
        ports = (self.ports[server], self.ports[f"{server}-health"])
        while any(processes.listens(ADDRESS, port) for port in ports):
            time.sleep(0.01)

    def start(self, server: str, kubeconfig: Path | None = None) -> None:
        """Start a server that was killed, where it listened before, and wait until it answers."""
        _serve(self.folder, kubeconfig or self.kubeconfig, server, self.ports)


@contextmanager
def running(control_plane: Path, kubectl: Kubectl) -> Iterator[Product]:
    """Install the product on a control plane and run it until the context ends."""
    folder = control_plane / "product"
    folder.mkdir(exist_ok=True)
    names = (*SERVERS, "admission-health", "hooks-health")
    ports = dict(zip(names, processes.free_ports(len(names)), strict=True))
    token = secrets.token_hex(16)
    (folder / "tokens").write_text(f"{token}\n")
    kubeconfig, authority = control_plane / "kubeconfig", Authority(control_plane / "pki")
    _install(kubectl, authority, ports, token)
    authority.issue("tls", "workloadrun", hosts=[ADDRESS], folder=folder)
    try:
        for server in SERVERS:
            _serve(folder, kubeconfig, server, ports)
        _wait_for_admission(kubectl)
        with Driver(kubeconfig) as driver:
            yield Product(folder, driver, ports, kubeconfig)
    finally:
        processes.stop(folder, SERVERS, grace=15)


def _serve(folder: Path, kubeconfig: Path, server: str, ports: dict[str, int]) -> None:
    environment = {
        "WORKLOADRUN_ROLE": server,
        "WORKLOADRUN_PORT": str(ports[server]),
        "WORKLOADRUN_HEALTH_PORT": str(ports[f"{server}-health"]),
        "WORKLOADRUN_TLS_DIR": str(folder),
        "WORKLOADRUN_TOKEN_FILE": str(folder / "tokens"),
        "KUBECONFIG": str(kubeconfig),
        "PYTHONPATH": str(ROOT),
    }
    gunicorn = str(Path(sys.executable).with_name("gunicorn"))
    command = [gunicorn, "--config", "python:webhook.gunicorn_conf", "--pid", str(folder / f"{server}-gunicorn.pid")]
    processes.start(folder, server, command, environment)
    processes.wait_until(lambda: processes.listens(ADDRESS, ports[f"{server}-health"]), folder, server)


def _install(kubectl: Kubectl, authority: Authority, ports: dict[str, int], token: str) -> None:
    crds = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "templates" / "crds").glob("*.yaml"))]
    kubectl.apply(crds)
    kubectl.wait_for_definitions(*(crd["metadata"]["name"] for crd in crds))
    profiles = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "profiles").glob("*.yaml"))]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl.apply([namespace, *profiles])
    replace(kubectl, namespace=NAMESPACE).apply([_token(token)])
    kubectl.apply(_webhooks(authority, ports["admission"]))
    kubectl.apply([_controller(item, authority, ports["hooks"]) for item in product_controllers() if _served(item)])


def _served(controller: dict[str, Any]) -> bool:
    """The controller of Jobs with devices needs APIs that this control plane does not have."""
    return bool(controller["metadata"]["name"] != "cre-jobs-devices")


def _token(token: str) -> dict[str, Any]:
    data = {"token-1": base64.b64encode(token.encode()).decode()}
    metadata = {"name": TOKEN_SECRET, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _controller(controller: dict[str, Any], authority: Authority, port: int) -> dict[str, Any]:
    """Point a CompositeController's hooks at our server, with its CA and its token."""
    name = controller["metadata"]["name"]
    secret = {"name": TOKEN_SECRET, "namespace": NAMESPACE, "key": "token-1"}
    hooks = {
        hook: {
            "version": "v2",
            "webhook": {
                "url": f"https://{ADDRESS}:{port}/hooks/{name}/{hook}",
                "timeout": "60s",
                "caBundle": {"inline": authority.certificate.read_text()},
                "authorization": {"secretRef": secret},
            },
        }
        for hook in controller["spec"]["hooks"]
    }
    return {**controller, "spec": {**controller["spec"], "hooks": hooks}}


def _webhooks(authority: Authority, port: int) -> list[dict[str, Any]]:
    """Return the configurations that the chart has, for a server on loopback."""
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "workloadrun"},
            "webhooks": [
                {
                    "name": f"{path}.cre.nvidia.com",
                    "clientConfig": {"url": f"https://{ADDRESS}:{port}/{path}", "caBundle": authority.bundle},
                    "rules": [rule(resources)],
                    "namespaceSelector": {"matchExpressions": [{"key": BYPASS, "operator": "DoesNotExist"}]},
                    "failurePolicy": "Fail",
                    "sideEffects": "None",
                    "timeoutSeconds": 10,
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }
        for kind, path, resources in (("Mutating", "mutate", WRITTEN_BY_PEOPLE), ("Validating", "validate", WRITTEN))
    ]


def rule(resources: Sequence[str]) -> dict[str, Any]:
    """Return the one rule of a webhook of the chart."""
    return {
        "apiGroups": ["cre.nvidia.com"],
        "apiVersions": ["v1alpha1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": list(resources),
        "scope": "*",
    }


def _wait_for_admission(kubectl: Kubectl) -> None:
    """Wait until the API server's own view of the webhooks is there: it takes a moment to notice them."""
    probe = {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "WorkloadRun",
        "metadata": {"name": "probe"},
        "spec": {
            "image": "x",
            "numNodes": 1,
            "framework": {"exec": {"command": ["true"]}},
            "gangScheduler": {"schedulerName": "x"},
        },
    }
    for _ in range(100):
        out = kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=yaml.safe_dump(probe))
        if "default-queue" in out:
            return
    raise AssertionError("the mutating webhook is never called")
