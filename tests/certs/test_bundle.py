"""Clients are told exactly what differs, by name, and only while they are what was read."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta

from certs.bundle import TokenReference, bundle, controller_patch, shows, webhook_patch
from certs.credentials import Certificates, Progress
from tests.support.fakeapi import merged
from tests.support.installation import NOW, certificates, controller, pair, webhooks

TRUSTED = b"-----BEGIN CERTIFICATE-----\nexample\n-----END CERTIFICATE-----\n"
ENCODED = base64.b64encode(TRUSTED).decode()
REFERENCE = TokenReference("readiness", "run-tls", 3)
VERSION = {"resourceVersion": "17"}


def read(obj: dict) -> dict:  # type: ignore[type-arg]
    """Give an object the version under which it was read."""
    return {**obj, "metadata": {**obj["metadata"], **VERSION}}


def test_every_webhook_is_told_by_its_name() -> None:
    entries = [{"name": name, "clientConfig": {"caBundle": ENCODED}} for name in ("a.cre", "b.cre")]
    assert webhook_patch(read(webhooks()), TRUSTED) == {"metadata": VERSION, "webhooks": entries}


def test_a_webhook_that_knows_is_not_told_again() -> None:
    live = read(webhooks())
    live["webhooks"][0]["clientConfig"]["caBundle"] = ENCODED
    patch = webhook_patch(live, TRUSTED)
    assert patch is not None
    assert [entry["name"] for entry in patch["webhooks"]] == ["b.cre"]


def test_webhooks_that_all_know_need_no_patch() -> None:
    live = read(webhooks())
    for entry in live["webhooks"]:
        entry["clientConfig"]["caBundle"] = ENCODED
    assert webhook_patch(live, TRUSTED) is None


def test_every_hook_of_a_controller_is_told_and_then_knows() -> None:
    live = read(controller("cre-jobs-devices", "sync", "finalize"))
    patch = controller_patch(live, TRUSTED, REFERENCE)
    assert patch is not None
    assert patch["metadata"] == VERSION
    told = merged(live, patch)
    for name in ("sync", "finalize"):
        webhook = told["spec"]["hooks"][name]["webhook"]
        assert webhook["caBundle"] == {"inline": TRUSTED.decode()}
        assert webhook["authorization"]["secretRef"] == {"namespace": "readiness", "name": "run-tls", "key": "token-3"}
        assert webhook["url"] == live["spec"]["hooks"][name]["webhook"]["url"]
    assert controller_patch(told, TRUSTED, REFERENCE) is None
    assert shows(told, REFERENCE)


def test_another_source_of_trust_gives_way() -> None:
    live = read(controller("cre-jobs"))
    live["spec"]["hooks"]["sync"]["webhook"]["caBundle"] = {"secretRef": {"name": "x", "namespace": "y"}}
    patch = controller_patch(live, TRUSTED, REFERENCE)
    assert patch is not None
    assert merged(live, patch)["spec"]["hooks"]["sync"]["webhook"]["caBundle"] == {"inline": TRUSTED.decode()}


def test_a_controller_that_shows_another_token_is_told_that_alone() -> None:
    live = read(controller("cre-jobs"))
    patch = controller_patch(live, TRUSTED, REFERENCE)
    assert patch is not None
    live = merged(live, patch)
    patch = controller_patch(live, TRUSTED, replace(REFERENCE, number=4))
    assert patch is not None
    assert list(patch["spec"]["hooks"]["sync"]["webhook"]) == ["authorization"]
    assert not shows(live, replace(REFERENCE, number=4))


def test_a_rotation_changes_the_bundle_twice() -> None:
    old = certificates()
    authority, serving = pair(NOW + timedelta(days=1))
    assert old.authority
    during = replace(old, next_authority=authority, next_serving=serving, progress=Progress(NOW))
    after = Certificates(authority, serving, old_authority=old.authority.certificate, progress=Progress(NOW))
    steady = replace(after, old_authority=b"")
    bundles = [bundle(each) for each in (old, during, after, steady)]
    assert bundles[1] == bundles[2] == bundles[0] + bundles[3]


def test_what_is_no_certificate_is_in_no_bundle() -> None:
    good = certificates()
    assert bundle(replace(good, old_authority=b"garbage")) == bundle(good)
    assert bundle(Certificates()) == b""
