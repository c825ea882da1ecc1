"""How JobSet, Trainer and KWOK are started beside the control plane: command lines and configuration files.

As `components.py`: starts nothing itself.
"""

from __future__ import annotations

from tests.cluster.components import Run


def jobset(run: Run) -> list[str]:
    """JobSet outside the cluster."""
    return [run.binary("jobset"), f"--config={run.folder}/jobset.yaml", f"--kubeconfig={run.kubeconfig}"]


def jobset_configuration(run: Run) -> dict[str, object]:
    """Our own certificates instead of its rotation, no leader election, no metrics."""
    return {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": "0"},
        "webhook": {
            "host": run.settings.address,
            "port": run.ports["jobset"],
            "certDir": f"{run.folder}/jobset/k8s-webhook-server/serving-certs",
        },
    }


def trainer(run: Run) -> list[str]:
    """Trainer outside the cluster."""
    return [run.binary("trainer"), f"--config={run.folder}/trainer.yaml", f"--kubeconfig={run.kubeconfig}"]


def trainer_configuration(run: Run) -> dict[str, object]:
    """As JobSet; the certificates lie where its TMPDIR says, there is no setting for it."""
    return {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": run.settings.address, "port": run.ports["trainer"]},
    }


def kwok(run: Run) -> list[str]:
    """KWOK as the kubelet of every node; lifecycles and logs come from objects, so that tests change them."""
    address = f"127.0.0.1:{run.ports['kwok']}"
    return [
        run.binary("kwok"),
        f"--kubeconfig={run.kubeconfig}",
        f"--config={run.folder}/kwok.yaml",
        "--manage-all-nodes=true",
        "--enable-crds=Stage,Logs,ClusterLogs",
        "--node-ip=127.0.0.1",
        f"--node-port={run.ports['kwok']}",
        f"--server-address={address}",
        f"--tls-cert-file={run.pki}/api.crt",
        f"--tls-private-key-file={run.pki}/api.key",
    ]
