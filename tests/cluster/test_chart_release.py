"""The chart installed, upgraded, rolled back and uninstalled by both versions of Helm on a real API server."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.credentials import Stage
from tests.cluster import build
from tests.cluster.cluster import Cluster
from tests.cluster.release import CHART, NAME, Release
from tests.support.kubectl import KubectlError

WEBHOOKS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
CONTROLLERS = ("cre-workloadruns", "cre-workflows", "cre-jobs", "cre-bandwidthmeasurements", "cre-goodputmeasurements")


@pytest.fixture(scope="session")
def helms(pytestconfig: pytest.Config) -> Path:
    """Return the folder of both versions of Helm."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return build.ensure(["chart"], say=lambda line: print(line, file=sys.stderr)) / "bin"
    except build.ToolsMissing as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(params=["helm3", "helm4"])
def release(cluster: Cluster, helms: Path, request: pytest.FixtureRequest) -> Iterator[Release]:
    """Return a release that is not installed yet, and is uninstalled afterwards."""
    found = Release(cluster, helms / request.param)
    yield found
    found.uninstall()


@pytest.fixture
def release3(cluster: Cluster, helms: Path) -> Iterator[Release]:
    """Return a release for what does not depend on the version of Helm."""
    found = Release(cluster, helms / "helm3")
    yield found
    found.uninstall()


def injected(release: Release) -> list[Any]:
    """Return all that the certs container writes outside of its Secret: CAs and tokens' references."""
    kubectl = release.cluster.kubectl
    webhooks = [kubectl.get(kind, NAME)["webhooks"][0]["clientConfig"].get("caBundle") for kind in WEBHOOKS]
    hooks = [kubectl.get("compositecontroller", name)["spec"]["hooks"]["sync"]["webhook"] for name in CONTROLLERS]
    return [*webhooks, *((hook.get("caBundle"), hook.get("authorization")) for hook in hooks)]


def secret(release: Release) -> dict[str, str]:
    return dict(release.cluster.kubectl.get("secret", f"{NAME}-tls").get("data", {}))


@contextmanager
def never_blank(release: Release) -> Iterator[None]:
    """See to it that the API server trusts the same CA all the while."""
    done, seen = threading.Event(), set()

    def look() -> None:
        while not done.is_set():
            for kind in WEBHOOKS:
                seen.add(release.cluster.kubectl.get(kind, NAME)["webhooks"][0]["clientConfig"].get("caBundle"))

    thread = threading.Thread(target=look)
    thread.start()
    yield
    done.set()
    thread.join()
    assert len(seen) == 1
    assert None not in seen


def test_a_release_keeps_its_credentials_until_it_goes_and_leaves_nothing(release: Release, tmp_path: Path) -> None:
    release.install()
    assert release.rotator(tmp_path / "one").look()
    told, kept = injected(release), secret(release)
    assert all(told)
    with never_blank(release):
        release.upgrade("admission.timeoutSeconds=7", "hooks.timeoutSeconds=45", "admission.replicas=3")
        assert (injected(release), secret(release)) == (told, kept)
        assert not release.rotator(tmp_path / "two").look()
        release.rollback()
    assert (injected(release), secret(release)) == (told, kept)
    release.uninstall()
    release.cluster.eventually(lambda: not release.left())
    assert "workloadruns.cre.nvidia.com" in release.cluster.kubectl("get", "crds", "--output=name")
    release.install()
    assert secret(release) == {}


def test_a_change_of_helm_keeps_the_credentials(release3: Release, helms: Path, tmp_path: Path) -> None:
    release3.install()
    release3.rotator(tmp_path / "one").look()
    told, kept = injected(release3), secret(release3)
    newer = Release(release3.cluster, helms / "helm4")
    with never_blank(release3):
        newer.upgrade("admission.timeoutSeconds=7", "hooks.timeoutSeconds=45")
        newer.rollback()
        newer.upgrade("hooks.replicas=3")
    assert (injected(release3), secret(release3)) == (told, kept)


def test_an_upgrade_reaches_what_the_rotator_has_written_to(release: Release, tmp_path: Path) -> None:
    release.install()
    release.rotator(tmp_path).look()
    release.upgrade("admission.timeoutSeconds=7", "hooks.timeoutSeconds=45")
    kubectl = release.cluster.kubectl
    assert [kubectl.get(kind, NAME)["webhooks"][0]["timeoutSeconds"] for kind in WEBHOOKS] == [7, 7]
    assert kubectl.get("compositecontroller", "cre-jobs")["spec"]["hooks"]["sync"]["webhook"]["timeout"] == "45s"


def test_a_rotation_runs_with_the_rights_of_the_chart(release3: Release, tmp_path: Path) -> None:
    release3.install()
    rotator = release3.rotator(tmp_path, {"WORKLOADRUN_SETTLE_SECONDS": "0", "WORKLOADRUN_PATIENCE_SECONDS": "0"})
    rotator.look()
    before = secret(release3)
    release3.cluster.kubectl("annotate", "secret", f"{NAME}-tls", "cre.nvidia.com/rotate=now")
    while rotator.look():
        pass
    after = secret(release3)
    assert rotator.remembered
    assert rotator.remembered.certificates.stage is Stage.STEADY
    assert after["ca.crt"] != before["ca.crt"]
    assert set(after) - set(before) == {"token-2"}
    reasons = [event["reason"] for event in release3.cluster.kubectl.list("events")]
    assert {"CertificatesSwitched", "CertificatesDropped", "TokenSwitched", "TokenDropped"} <= set(reasons)


# --- rights


def allowed(release: Release, account: str, verb: str, resource: str, *more: str) -> bool:
    who = f"--as=system:serviceaccount:{release.cluster.namespace}:{NAME}-{account}"
    try:
        return release.cluster.kubectl("auth", "can-i", verb, resource, who, *more).strip() == "yes"
    except KubectlError:
        return False


def test_accounts_may_do_what_they_do_and_nothing_more(release3: Release) -> None:
    release3.install()
    everywhere = "--all-namespaces"
    expected = {
        ("hooks", "list", "nodes"): True,
        ("hooks", "get", "pods", "--subresource=log", everywhere): True,
        ("hooks", "get", "workloadruns.cre.nvidia.com", everywhere): True,
        ("hooks", "create", "events", everywhere): True,
        ("hooks", "get", "secrets"): False,
        ("hooks", "update", "workloadruns.cre.nvidia.com", "--subresource=status"): False,
        ("hooks", "create", "pods"): False,
        ("hooks", "patch", "nodes"): False,
        ("hooks", "get", "pods", "--subresource=exec"): False,
        ("admission", "get", f"secrets/{NAME}-tls"): True,
        ("admission", "get", "secrets"): False,
        ("admission", "create", "secrets"): False,
        ("admission", "get", "secrets/another"): False,
        ("admission", "patch", f"validatingwebhookconfigurations/{NAME}"): True,
        ("admission", "patch", "validatingwebhookconfigurations/another"): False,
        ("admission", "delete", f"validatingwebhookconfigurations/{NAME}"): False,
        ("admission", "patch", "compositecontrollers/cre-jobs"): True,
        ("admission", "patch", "compositecontrollers/another"): False,
        ("admission", "get", "nodes"): False,
    }
    assert {question: allowed(release3, *question) for question in expected} == expected


# --- what is stored is what was rendered


ASSIGNED = {
    "Service": {".clusterIP", ".clusterIPs", ".ipFamilies", ".ipFamilyPolicy"},
    "Deployment": {".template.spec.serviceAccount"},  # a copy of serviceAccountName under its old name
    "CustomResourceDefinition": {".conversion"},
}


def additions(ours: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Name every field that the API server has added or changed."""
    if isinstance(ours, dict) and isinstance(stored, dict):
        for key in sorted(ours.keys() | stored.keys()):
            if key in ours and key in stored:
                yield from additions(ours[key], stored[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(ours, list) and isinstance(stored, list) and len(ours) == len(stored):
        for index, (mine, theirs) in enumerate(zip(ours, stored, strict=True)):
            yield from additions(mine, theirs, f"{path}[{index}]")
    elif ours != stored:
        yield path


def test_the_api_server_accepts_every_object_and_adds_nothing(release3: Release) -> None:
    text = release3("template", NAME, str(CHART), "--kube-version=1.36.3", "--set=metacontroller.devices=true")
    objects = [found for found in yaml.load_all(text, yaml.CSafeLoader) if found]
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    create = ("create", "--dry-run=server", "--validate=strict", "--output=json", "--filename=-")
    answer = json.loads(release3.cluster.kubectl(*create, input=whole))
    stored = {(found["kind"], found["metadata"]["name"]): found for found in answer["items"]}
    assert len(stored) == len(objects)
    for found in objects:
        theirs = stored[found["kind"], found["metadata"]["name"]]
        for part in sorted((found.keys() | theirs.keys()) - {"metadata", "status"}):
            added = set(additions(found.get(part), theirs.get(part)))
            assert added <= ASSIGNED.get(found["kind"], set()), (found["kind"], found["metadata"]["name"], part)
