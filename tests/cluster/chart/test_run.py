"""A run through an installed chart, to its verdict: with its CA, its token, and only the rights that it gives.

Token and certificate are replaced while a run is under way; a run outlives its chart, and can go without it.
"""

from __future__ import annotations

import pytest

from certs.credentials import Stage
from certs.rotator import Rotator
from tests.cluster.chart.played import WITHOUT_PODS, Installed, looking, verdict, with_a_run_under_way
from tests.cluster.chart.release import ASKED, CHART, CLUSTER_KINDS, INSTANCE, NAME
from webhook.profiles import ProfileInstaller


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


def rotated(rotator: Rotator) -> bool:
    """Tell whether both rotations are over."""
    known = rotator.remembered
    assert known
    return known.tokens.current == 2 and {known.certificates.stage, known.tokens.stage} == {Stage.STEADY}
