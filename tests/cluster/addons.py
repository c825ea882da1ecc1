"""Install and start JobSet, Trainer and KWOK on a fresh API server: definitions, processes, webhooks, defaults.

JobSet and Trainer run outside the cluster, so their webhook configurations name a URL and our own CA.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import controllers, stages
from tests.cluster.components import Run, write_yaml
from tests.cluster.pki import Authority
from tests.cluster.processes import listens, start, wait_until
from tests.support.kubectl import Kubectl

DEFINITIONS = (
    ("jobset", "config/components/crd/bases/*.yaml"),
    ("trainer", "manifests/base/crds/*.yaml"),
    *(("kwok", f"kustomize/crd/bases/kwok.x-k8s.io_{kind}.yaml") for kind in ("stages", "logs", "clusterlogs")),
)
OWN_DEFINITIONS = Path(__file__).parent / "manifests"
WEBHOOKS = (
    ("jobset", "config/components/webhook/manifests.yaml"),
    ("trainer", "manifests/base/webhook/manifests.yaml"),
)
DEFAULT_LOG = "2026-01-01T00:00:00.000000000Z stdout F no log was given for this pod\n"


def install(run: Run) -> None:
    """Bring everything up on a ready API server and return when it answers. Raises StartFailed or KubectlError."""
    kubectl = Kubectl(run.kubeconfig, run.binary("kubectl"))
    _define(run, kubectl)
    _start(run)
    for name, pattern in WEBHOOKS:
        wait_until(lambda name=name: listens(run.settings.address, run.ports[name]), run.folder, name)  # type: ignore[misc]
        kubectl.apply(_webhooks(run, name, run.manifests(name, pattern)))
    kubectl.apply(_load(run.manifests("trainer", "manifests/base/runtimes/*.yaml")))
    if run.settings.kwok:
        wait_until(lambda: listens("127.0.0.1", run.ports["kwok"]), run.folder, "kwok")


def _define(run: Run, kubectl: Kubectl) -> None:
    files = [str(path) for module, pattern in DEFINITIONS for path in run.manifests(module, pattern)]
    files.append(str(OWN_DEFINITIONS))
    kubectl("create", "--validate=false", *[f"--filename={path}" for path in files])  # 1.5 MB: not parsed here as well
    kubectl.wait_for_definitions()
    if run.settings.kwok:
        log = run.folder / "pod.log"
        log.write_text(DEFAULT_LOG)
        node_stages = _load(run.manifests("kwok", "kustomize/stage/node/*/*.yaml"))
        kubectl.apply([*node_stages, *stages.defaults(), stages.cluster_logs("default", log)])


def _start(run: Run) -> None:
    authority = Authority(run.pki)
    for name in ("jobset", "trainer"):
        certificates = run.folder / name / "k8s-webhook-server" / "serving-certs"
        authority.issue("tls", name, hosts=[run.settings.address], folder=certificates)
    write_yaml(run.folder / "jobset.yaml", controllers.jobset_configuration(run))
    write_yaml(run.folder / "trainer.yaml", controllers.trainer_configuration(run))
    start(run.folder, "jobset", controllers.jobset(run))
    start(run.folder, "trainer", controllers.trainer(run), {"TMPDIR": f"{run.folder}/trainer"})
    if run.settings.kwok:
        (run.folder / "kwok.yaml").touch()  # else KWOK would read the user's own configuration
        start(run.folder, "kwok", controllers.kwok(run))


def _webhooks(run: Run, name: str, paths: Iterable[Path]) -> list[dict[str, Any]]:
    documents = _load(paths)
    for document in documents:
        document["metadata"]["name"] = f"{name}-{document['metadata']['name']}"
        for webhook in document["webhooks"]:
            path = webhook["clientConfig"]["service"].get("path", "/")
            url = f"https://{run.settings.address}:{run.ports[name]}{path}"
            webhook["clientConfig"] = {"url": url, "caBundle": Authority(run.pki).bundle}
    return documents


def _load(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [document for path in paths for document in yaml.safe_load_all(path.read_text()) if document]
