"""The chart installed, upgraded, rolled back and uninstalled by both versions of Helm on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from certs.credentials import Stage
from tests.cluster.chart.release import CHART, NAME, Release
from tests.cluster.repeating import repeating
from tests.support.kubectl import KubectlError

WEBHOOKS = tuple(
    f"/apis/admissionregistration.k8s.io/v1/{kind}/{NAME}"
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
)


def injected(release: Release, tmp_path: Path) -> list[Any]:
    """Return all that the certs container writes outside of its Secret: CAs and tokens' references."""
    api, found = release.api, []
    for client in release.rotation(tmp_path).installation.clients:
        live = api.get(client.path)
        found += [entry["clientConfig"].get("caBundle") for entry in live.get("webhooks", [])]
        for hook in live.get("spec", {}).get("hooks", {}).values():
            found += [hook["webhook"].get("caBundle"), hook["webhook"].get("authorization")]
    return found


def secret(release: Release) -> dict[str, str]:
    return dict(release.cluster.kubectl.get("secret", f"{NAME}-tls").get("data", {}))


def timeouts(release: Release) -> list[int | str]:
    """Return what an upgrade changes in objects that the certs container has written to."""
    controller = release.cluster.kubectl.get("compositecontroller", "cre-jobs")
    webhooks = [release.api.get(path)["webhooks"][0]["timeoutSeconds"] for path in WEBHOOKS]
    return [*webhooks, controller["spec"]["hooks"]["sync"]["webhook"]["timeout"]]


@contextmanager
def never_blank(release: Release) -> Iterator[None]:
    """See to it that the API server trusts the same CA all the while."""
    api, seen = release.api, set()

    def look() -> None:
        for path in WEBHOOKS:
            seen.add(api.get(path)["webhooks"][0]["clientConfig"].get("caBundle"))

    with repeating(look, 0.02):
        yield
    assert len(seen) == 1
    assert None not in seen


def test_a_release_keeps_its_credentials_until_it_goes_and_leaves_nothing(release: Release, tmp_path: Path) -> None:
    release.install()
    assert release.rotator(tmp_path / "one").look()
    told, kept = injected(release, tmp_path), secret(release)
    assert all(told)
    with never_blank(release):
        release.upgrade("admission.timeoutSeconds=7", "hooks.timeoutSeconds=75", "admission.replicas=3")
        assert (injected(release, tmp_path), secret(release)) == (told, kept)
        assert timeouts(release) == [7, 7, "75s"]
        assert not release.rotator(tmp_path / "two").look()
        release.rollback()
    assert (injected(release, tmp_path), secret(release)) == (told, kept)
    release.uninstall()
    release.cluster.eventually(lambda: not release.left())
    assert "workloadruns.cre.nvidia.com" in release.cluster.kubectl("get", "crds", "--output=name")
    release.install()
    assert secret(release) == {}


def test_a_change_of_helm_keeps_the_credentials(release3: Release, tools: Path, tmp_path: Path) -> None:
    release3.install()
    release3.rotator(tmp_path / "one").look()
    told, kept = injected(release3, tmp_path), secret(release3)
    newer = Release(release3.cluster, tools / "helm4")
    with never_blank(release3):
        newer.upgrade("admission.timeoutSeconds=7", "hooks.timeoutSeconds=75")
        newer.rollback()
        newer.upgrade("hooks.replicas=3")
    assert (injected(release3, tmp_path), secret(release3)) == (told, kept)


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


def documents(text: str) -> Iterator[dict[str, Any]]:
    """Read JSON documents that follow one another."""
    decoder, start = json.JSONDecoder(), 0
    while start < len(text):
        found, end = decoder.raw_decode(text, start)
        yield found
        start = end + len(text[end:]) - len(text[end:].lstrip())


def test_the_api_server_accepts_every_object_and_adds_nothing(release3: Release) -> None:
    text = release3("template", NAME, str(CHART), "--kube-version=1.36.3", "--set=metacontroller.devices=true")
    loaded = [found for found in yaml.load_all(text, yaml.CSafeLoader) if found]
    objects = [found for found in loaded if found["kind"] != "CustomResourceDefinition"]  # others' tests install them
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    create = ("create", "--dry-run=server", "--validate=strict", "--output=json", "--filename=-")
    answer = documents(release3.cluster.kubectl(*create, input=whole))
    stored = {(found["kind"], found["metadata"]["name"]): found for found in answer}
    assert len(stored) == len(objects)
    for found in objects:
        theirs = stored[found["kind"], found["metadata"]["name"]]
        for part in sorted((found.keys() | theirs.keys()) - {"metadata", "status"}):
            added = set(additions(found.get(part), theirs.get(part)))
            assert added <= ASSIGNED.get(found["kind"], set()), (found["kind"], found["metadata"]["name"], part)


# --- Argo CD applies what Helm renders


def test_applying_what_is_rendered_again_changes_nothing(release3: Release, tmp_path: Path) -> None:
    """As Argo CD does, by client-side apply and then, as another manager, by server-side apply; both without force."""
    kubectl, rendered = release3.cluster.kubectl, tmp_path / "rendered.yaml"
    everything = release3("template", NAME, str(CHART), "--kube-version=1.36.3")
    without = [found for found in everything.split("\n---\n") if "kind: CustomResourceDefinition" not in found]
    rendered.write_text("\n---\n".join(without))
    kubectl("apply", f"--filename={rendered}")
    release3.rotator(tmp_path / "pod").look()
    told = injected(release3, tmp_path)
    assert kubectl("diff", f"--filename={rendered}") == ""
    kubectl("apply", f"--filename={rendered}")
    kubectl("apply", "--server-side", "--field-manager=argocd-controller", f"--filename={rendered}")
    assert injected(release3, tmp_path) == told
    assert all(told)
    kubectl("delete", "--wait=false", f"--filename={rendered}")
