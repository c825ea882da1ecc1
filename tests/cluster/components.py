"""How each component of the control plane is started: its command line and its configuration file, and why so.

Starts nothing itself: `controlplane.py` does, in order. Everything that a component needs to know is in its `Run`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.cluster.processes import free_ports

SERVICE_RANGE = "10.96.0.0/16"
DEFAULT_SCHEDULERS = ("default-scheduler", "kai-scheduler")
"""Profiles of the one scheduler; pods that name a gang-aware scheduler are placed too, one by one."""

_PORTS = ("etcd", "etcd-peer", "api", "controllers", "scheduler", "jobset", "trainer", "kwok")


@dataclass(frozen=True, slots=True)
class Settings:
    """What differs between a loopback control plane and one with a real node beside it."""

    address: str = "127.0.0.1"
    """Where the API server listens; a real node has an address in a network namespace of its own."""
    endpoints: str = "none"
    """Endpoint reconciler: `lease` publishes the API server as Service kubernetes, for pods that really run."""
    kwok: bool = True
    """Whether KWOK plays all kubelets; off where a real one runs."""
    schedulers: tuple[str, ...] = DEFAULT_SCHEDULERS
    api_server: str = "kube-apiserver"
    """Program of the API server: there are some of other versions."""


@dataclass(frozen=True, slots=True)
class Run:
    """One control plane: its folder, its programs, its ports."""

    folder: Path
    tools: Path
    settings: Settings = Settings()
    ports: dict[str, int] = field(default_factory=lambda: dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True)))

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{self.settings.address}:{self.ports['api']}"

    @property
    def pki(self) -> Path:
        """Folder of the CA and its certificates."""
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        """Credentials of a cluster administrator."""
        return self.folder / "kubeconfig"

    def binary(self, name: str) -> str:
        """Path of a program."""
        return str(self.tools / "bin" / name)

    def manifests(self, module: str, pattern: str) -> list[Path]:
        """Manifests that came with a module, sorted."""
        return sorted((self.tools / "manifests" / module).glob(pattern))


def write_configuration(run: Run) -> None:
    """Write the kubeconfig and the configuration files that the commands below name."""
    write_yaml(run.kubeconfig, kubeconfig(run))
    write_yaml(run.folder / "scheduler.yaml", scheduler_configuration(run))


def write_yaml(path: Path, document: object) -> None:
    """Write one YAML document, keys in the order given."""
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def kubeconfig(run: Run) -> dict[str, object]:
    """Credentials of a cluster administrator, by files of the run folder."""
    cluster = {"server": run.server, "certificate-authority": str(run.pki / "ca.crt")}
    user = {"client-certificate": str(run.pki / "admin.crt"), "client-key": str(run.pki / "admin.key")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
        "current-context": "local",
    }


def etcd(run: Run) -> list[str]:
    """The store, without fsync: it is thrown away with the run."""
    client = f"http://127.0.0.1:{run.ports['etcd']}"
    peer = f"http://127.0.0.1:{run.ports['etcd-peer']}"
    return [
        run.binary("etcd"),
        f"--data-dir={run.folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    ]


def api_server(run: Run) -> list[str]:
    """The API server with RBAC and every default admission plugin but one."""
    return [
        run.binary(run.settings.api_server),
        f"--etcd-servers=http://127.0.0.1:{run.ports['etcd']}",
        f"--bind-address={run.settings.address}",
        f"--advertise-address={run.settings.address}",
        f"--secure-port={run.ports['api']}",
        f"--cert-dir={run.folder}/kube-apiserver",
        f"--tls-cert-file={run.pki}/api.crt",
        f"--tls-private-key-file={run.pki}/api.key",
        f"--client-ca-file={run.pki}/ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={run.pki}/sa.pub",
        f"--service-account-signing-key-file={run.pki}/sa.key",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--disable-admission-plugins=TaintNodesByCondition",  # nobody here removes the taint of a new node
        f"--endpoint-reconciler-type={run.settings.endpoints}",
        "--enable-aggregator-routing=true",  # webhooks by Service are called at their pods, without kube-proxy
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={run.pki}/admin.crt",  # `kubectl logs` is a call to the kubelet
        f"--kubelet-client-key={run.pki}/admin.key",
        "--shutdown-delay-duration=0s",
    ]


def controller_manager(run: Run) -> list[str]:
    """All controllers but those that judge nodes: no kubelet renews leases here."""
    return [
        run.binary("kube-controller-manager"),
        f"--kubeconfig={run.kubeconfig}",
        f"--root-ca-file={run.pki}/ca.crt",
        f"--service-account-private-key-file={run.pki}/sa.key",
        "--use-service-account-credentials=false",
        "--leader-elect=false",
        "--controllers=*,-nodeipam,-nodelifecycle,-cloud-node-lifecycle",
        "--bind-address=127.0.0.1",
        f"--secure-port={run.ports['controllers']}",
        f"--cert-dir={run.folder}/kube-controller-manager",
        "--kube-api-qps=200",  # the default of 20 would be what a test of hundreds of Jobs measures
        "--kube-api-burst=400",
    ]


def scheduler(run: Run) -> list[str]:
    """The scheduler with one profile for each name that pods may ask for."""
    return [
        run.binary("kube-scheduler"),
        f"--config={run.folder}/scheduler.yaml",
        "--bind-address=127.0.0.1",
        f"--secure-port={run.ports['scheduler']}",
        f"--cert-dir={run.folder}/kube-scheduler",
    ]


def scheduler_configuration(run: Run) -> dict[str, object]:
    """One profile a scheduler name, all with the default plugins."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(run.kubeconfig), "qps": 200, "burst": 400},
        "profiles": [{"schedulerName": name} for name in run.settings.schedulers],
    }
