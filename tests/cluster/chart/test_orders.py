"""Trainer goes first, with a run alive, and then the chart and the run: nothing hangs and nothing of ours stays.

Uninstalled means what its releases do: controllers and webhooks go always, definitions with all their objects in some.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import build, processes
from tests.cluster.chart.played import Installed, verdict, with_a_run_under_way
from tests.cluster.chart.release import ASKED
from tests.cluster.chart.rescue import rescue
from tests.support.kubectl import Kubectl

ENGINES = ("trainer", "jobset")
WEBHOOKS = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
MANIFESTS = "manifests/trainer/manifests/base"
OURS = "workloadruns,workflows.cre.nvidia.com,jobs.cre.nvidia.com,bandwidthmeasurements,goodputmeasurements,configmaps"
THEIRS = "jobsets,jobs.batch,pods"
HELD = "trainer.kubeflow.org/resource-in-use"  # what Trainer 2.2 puts on a runtime
ROOT_CERTIFICATES = "kube-root-ca.crt"  # every namespace has them


@contextmanager
def engines_gone(installed: Installed, *, definitions: bool) -> Iterator[None]:
    """Take Trainer and JobSet away as an uninstallation does; afterwards they are there again, for other tests."""
    cluster = installed.release.cluster
    webhooks = _webhooks(cluster.kubectl)
    pids = [pid for name in ENGINES if (pid := processes.running(cluster.folder, name))]
    assert (len(webhooks), len(pids)) == (4, 2)
    cluster.kubectl("delete", WEBHOOKS, *[item["metadata"]["name"] for item in webhooks], "--ignore-not-found")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        if definitions:
            cluster.kubectl("delete", "--timeout=60s", f"--filename={_manifests('crds')}")
        yield
    finally:
        cluster.kubectl("apply", "--server-side", f"--filename={_manifests('crds')}")
        cluster.kubectl.wait_for_definitions()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        cluster.kubectl.apply(webhooks)
        cluster.kubectl("apply", "--server-side", f"--filename={_manifests('runtimes')}")


def _manifests(folder: str) -> str:
    return str(build.tools_folder() / MANIFESTS / folder)


def _webhooks(kubectl: Kubectl) -> list[dict[str, Any]]:
    """Read the engines' webhook configurations as one would write them."""
    found = [item for item in kubectl.list(WEBHOOKS) if item["metadata"]["name"].startswith(ENGINES)]
    return [{**item, "metadata": {"name": item["metadata"]["name"]}} for item in found]


@pytest.mark.parametrize("definitions", [False, True], ids=["its definitions stay", "its definitions go"])
@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_trainer_may_go_before_the_chart_and_its_runs(installed: Installed, cascade: str, definitions: bool) -> None:
    release, cluster = installed.release, installed.release.cluster
    with_a_run_under_way(installed)
    with engines_gone(installed, definitions=definitions):
        release.uninstall()
        cluster.kubectl("delete", "workloadrun", "alive", f"--cascade={cascade}", "--timeout=60s")
        cluster.eventually(lambda: not left(cluster.kubectl, OURS))
        if not definitions:
            cluster.eventually(lambda: not left(cluster.kubectl, "trainjobs,trainingruntimes"))
    cluster.eventually(lambda: not left(cluster.kubectl, THEIRS))
    cluster.eventually(lambda: not release.left())


def test_a_run_whose_trainjobs_went_with_trainer_ends_as_failed_when_trainer_is_back(installed: Installed) -> None:
    cluster = installed.release.cluster
    cluster.run_for(600)
    with installed.pods():
        cluster.apply({**ASKED, "metadata": {"name": "alive"}})
        cluster.eventually(lambda: cluster.kubectl.list("pods"))
        with engines_gone(installed, definitions=True):
            assert cluster.condition("workloadrun", "alive", "InProgress") == "True"
        assert verdict(installed.release, "alive") == "Failed"


def test_runtimes_that_an_older_trainer_holds_are_freed_by_the_documented_line(
    installed: Installed, tmp_path: Path
) -> None:
    release, cluster = installed.release, installed.release.cluster
    with_a_run_under_way(installed)
    [runtime] = cluster.kubectl.list("trainingruntimes")
    with engines_gone(installed, definitions=False):
        held = json.dumps({"metadata": {"finalizers": [HELD]}})
        cluster.kubectl("patch", "trainingruntime", runtime["metadata"]["name"], "--type=merge", f"--patch={held}")
        release.uninstall()
        cluster.kubectl("delete", "workloadrun", "alive", "--timeout=60s")
        cluster.eventually(lambda: ending(cluster.kubectl))
        rescue(cluster, "trainingruntimes", tmp_path)
        cluster.eventually(lambda: not left(cluster.kubectl, f"{OURS},trainjobs,trainingruntimes"))


def ending(kubectl: Kubectl) -> bool:
    """Tell whether the runtime waits for somebody to take its finalizer off."""
    [runtime] = kubectl.list("trainingruntimes")
    return "deletionTimestamp" in runtime["metadata"]


def left(kubectl: Kubectl, kinds: str) -> list[str]:
    found = json.loads(kubectl("get", kinds, "--output=json", "--ignore-not-found") or '{"items": []}')["items"]
    return [item["metadata"]["name"] for item in found if item["metadata"]["name"] != ROOT_CERTIFICATES]
