"""The chart as a release on the control plane: installed by a real Helm, with its certs container played from outside.

Pods do not run there, so the rotator runs here: with the environment of the installed Deployment and the rights of its
ServiceAccount, and nothing else.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from certs.api import ApiError, ClusterApi
from certs.replicas import Replicas, ServiceReplicas
from certs.rotator import Rotator
from tests.cluster.cluster import Cluster
from webhook.rotation import Rotation, read_rotation

CHART = Path(__file__).parents[3] / "charts" / "workloadrun"
NAME = "workloadrun"
METACONTROLLER = "metacontroller"  # who acts in its place
INSTANCE = f"app.kubernetes.io/instance={NAME}"
CLUSTER_KINDS = (
    "clusterroles,clusterrolebindings,compositecontrollers,"
    "mutatingwebhookconfigurations,validatingwebhookconfigurations"
)
NAMESPACED_KINDS = (
    "deployments,replicasets,pods,services,endpointslices,secrets,configmaps,serviceaccounts,roles,rolebindings,"
    "poddisruptionbudgets,networkpolicies"
)


ASKED = {
    "apiVersion": "cre.nvidia.com/v1alpha1",
    "kind": "WorkloadRun",
    "spec": {"image": "example.test/work:1", "numNodes": 1, "framework": {"exec": {"command": ["true"]}}},
}


class HelmError(Exception):
    """A call failed; the text is what Helm wrote."""


@dataclass(frozen=True, slots=True)
class Release:
    """One release of the chart in a test's namespace."""

    cluster: Cluster
    helm: Path

    def __call__(self, *arguments: str) -> str:
        """Run Helm and return its standard output. Raises HelmError."""
        where = [f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={self.cluster.namespace}"]
        done = subprocess.run([self.helm, *arguments, *where], capture_output=True, text=True, check=False)
        if done.returncode:
            raise HelmError(done.stderr + done.stdout)
        return done.stdout

    @property
    def api(self) -> ClusterApi:
        """A client with the rights of a cluster administrator, which costs less than a call of kubectl."""
        return ClusterApi(str(self.cluster.kubeconfig))

    def install(self, *sets: str) -> str:
        """Install the chart; definitions that another test has installed become this release's."""
        return self("install", NAME, str(CHART), "--take-ownership", *[f"--set={value}" for value in sets])

    def upgrade(self, *sets: str) -> str:
        """Upgrade to these values."""
        return self("upgrade", NAME, str(CHART), *[f"--set={value}" for value in sets])

    def rollback(self) -> str:
        """Go back to the revision before."""
        return self("rollback", NAME)

    def uninstall(self) -> str:
        """Uninstall, whether it is installed or not."""
        return self("uninstall", NAME, "--ignore-not-found")

    def left(self) -> list[str]:
        """Name what is there of the release, but for the definitions of its kinds."""
        everywhere = self.cluster.kubectl("get", CLUSTER_KINDS, "--selector", INSTANCE, "--output=name")
        here = self.cluster.kubectl("get", NAMESPACED_KINDS, "--selector", INSTANCE, "--output=name")
        return sorted([*everywhere.split(), *here.split()])

    def credentials(self, account: str, folder: Path) -> Path:
        """Write a kubeconfig with the rights of one of the release's ServiceAccounts."""
        config: dict[str, Any] = yaml.safe_load(self.cluster.kubeconfig.read_text())
        token = self.cluster.kubectl("create", "token", f"{NAME}-{account}").strip()
        config["users"][0]["user"] = {"token": token}
        path = folder / f"{account}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    def metacontroller(self, folder: Path) -> Path:
        """Write a kubeconfig of somebody who has the role for Metacontroller and no other."""
        user = METACONTROLLER
        self.cluster.kubectl("create", "clusterrolebinding", user, f"--clusterrole={NAME}-{user}", f"--user={user}")
        identity = self.cluster.authority.issue(user, user, folder=folder)
        config: dict[str, Any] = yaml.safe_load(self.cluster.kubeconfig.read_text())
        certificate, key = str(identity.certificate), str(identity.key)
        config["users"][0]["user"] = {"client-certificate": certificate, "client-key": key}
        path = folder / f"{user}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    def rotation(self, folder: Path, changes: Mapping[str, str] | None = None) -> Rotation:
        """Return the settings of the installed certs container, for a pod whose server reads from ``folder``."""
        deployment = self.cluster.kubectl.get("deployment", f"{NAME}-admission")
        [certs] = deployment["spec"]["template"]["spec"]["initContainers"]
        environment = {entry["name"]: entry.get("value", "") for entry in certs["env"]}
        own = {"WORKLOADRUN_NAMESPACE": self.cluster.namespace, "WORKLOADRUN_PROFILES_DIR": ""}
        if "WORKLOADRUN_TLS_DIR" in environment:
            own["WORKLOADRUN_TLS_DIR"] = str(folder)
        return read_rotation({**environment, **own, **(changes or {})})

    def rotator(
        self, folder: Path, changes: Mapping[str, str] | None = None, replicas: Replicas | None = None
    ) -> Rotator:
        """Return the rotator of one admission pod."""
        folder.mkdir(exist_ok=True)
        rotation, api = self.rotation(folder, changes), ClusterApi(str(self.credentials("admission", folder)))
        asked = replicas or ServiceReplicas(api, rotation.installation)
        return Rotator(api, rotation.installation, rotation.settings, asked, clock=lambda: datetime.now(UTC))

    def call_by_address(self, port: int) -> None:
        """Let the API server call webhooks at an address of this machine: there are no pods behind the Service."""
        for kind, path in (("mutating", "mutate"), ("validating", "validate")):
            client, url = "/webhooks/0/clientConfig", f"https://127.0.0.1:{port}/{path}"
            patch = [
                {"op": "remove", "path": f"{client}/service"},
                {"op": "add", "path": f"{client}/url", "value": url},
            ]
            target = f"{kind}webhookconfiguration/{NAME}"
            self.cluster.kubectl("patch", target, "--type=json", f"--patch={json.dumps(patch)}")

    def ask(self, api: ClusterApi) -> None:
        """Create a WorkloadRun as a dry run, for which admission is asked all the same. Raises ApiError."""
        path = f"/apis/cre.nvidia.com/v1alpha1/namespaces/{self.cluster.namespace}/workloadruns"
        api.post(f"{path}?dryRun=All", {**ASKED, "metadata": {"name": "asked"}})

    def admits(self) -> bool:
        """Tell whether admission answers."""
        try:
            self.ask(self.api)
        except ApiError:
            return False
        return True
