"""The oldest and the newest Kubernetes that is claimed take what Helm installs, and its definitions judge alike there.

The API server runs alone here, with its store: it needs no node for this.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certs.api import ApiError, ClusterApi
from sync_hooks.api.kinds import KINDS
from tests.cluster import build, controlplane
from tests.cluster.addons import OWN_DEFINITIONS
from tests.cluster.chart.release import CHART, Release
from tests.cluster.cluster import Cluster
from tests.cluster.components import Run, Settings
from tests.cluster.versions import NEWEST_KUBERNETES, OLDEST_KUBERNETES
from tests.e2e import sandbox
from tests.support.kubectl import Kubectl
from tests.sync_hooks.admission.cases import cases

NAMESPACE = "claimed"
HELMS = ("helm3", "helm4")
LARGEST_BODY = 100_000  # bytes; longer ones are about limits of admission's own
PLURALS = {kind.kind: kind for kind in KINDS}


@pytest.fixture(scope="module", params=[OLDEST_KUBERNETES, NEWEST_KUBERNETES])
def release(request: pytest.FixtureRequest) -> Iterator[Release]:
    """Return the chart's release on the API server of a version, not installed yet."""
    if sandbox.FOLDER not in os.environ:
        pytest.skip("this is part of make e2e")
    minor = request.param.rpartition(".")[0]
    tools = build.ensure(["test", "chart", "claim"])
    run = Run(Path(os.environ[sandbox.FOLDER]) / minor, tools, Settings(api_server=f"kube-apiserver-{minor}"))
    run.folder.mkdir()
    kubectl = Kubectl(run.kubeconfig, run.binary("kubectl"), NAMESPACE)
    try:
        controlplane.start_api(run)
        assert request.param in kubectl("version")
        kubectl("create", "namespace", NAMESPACE)
        kubectl("apply", "--server-side", f"--filename={OWN_DEFINITIONS}")
        kubectl.wait_for_definitions()
        yield Release(Cluster(run.folder, kubectl), tools / "bin" / HELMS[0])
    finally:
        controlplane.stop_all(run.folder)


def test_it_is_installed_upgraded_and_uninstalled(release: Release) -> None:
    for name in HELMS:
        by_this = Release(release.cluster, release.helm.with_name(name))
        by_this.install()
        by_this.upgrade("admission.timeoutSeconds=7")
        by_this.rollback()
        release.cluster.kubectl.wait_for_definitions()
        by_this.uninstall()
        assert by_this.left() == []


def test_its_definitions_judge_as_on_the_version_of_all_other_tests(release: Release) -> None:
    release.cluster.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={CHART}/templates/crds")
    release.cluster.kubectl.wait_for_definitions()
    api = release.api
    table = [case for case in cases() if len(str(case.bad)) < LARGEST_BODY and not case.offline]
    assert {case.rule: text for case in table if (text := refusal(api, case.good))} == {}
    assert {case.rule for case in table if refusal(api, case.bad)} == {case.rule for case in table if case.schema}


def refusal(api: ClusterApi, obj: Any) -> str:
    """Return why an object is not created, empty where it would be."""
    kind = PLURALS[obj["kind"]]
    where = kind.plural if kind.cluster_scoped else f"namespaces/{NAMESPACE}/{kind.plural}"
    own = json.loads(json.dumps(obj).replace('"here"', f'"{NAMESPACE}"'))
    try:
        api.post(f"/apis/cre.nvidia.com/v1alpha1/{where}?dryRun=All", own)
    except ApiError as error:
        return str(error)
    return ""
