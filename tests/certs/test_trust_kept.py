"""No change takes away the CAs that pods may still serve by: they stay beside the new one until none is seen to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from certs.authority import KeyPair
from certs.bundle import bundle
from certs.changes import changed
from certs.credentials import Certificates, Credentials, Progress, Stage
from certs.policy import decide
from certs.settings import Settings
from certs.situation import Action, Facts, Situation
from tests.support.installation import NOW, SETTINGS, credentials, pair

GOOD = credentials()
AUTHORITY, SERVING = pair()
NEXT_AUTHORITY, NEXT_SERVING = pair()
OLD_AUTHORITY, _ = pair()
ENDED_AUTHORITY, _ = pair(NOW - timedelta(days=100), days=50)
EXTERNAL = replace(SETTINGS, external=True)
BEGUN = Progress(since=NOW)
NOTHING = Facts()


def after(
    content: Certificates, facts: Facts = NOTHING, settings: Settings = SETTINGS
) -> tuple[list[Action], Certificates]:
    """Return what was done with certificates, and what came of it."""
    situation = Situation(Credentials(content, GOOD.tokens), facts, settings, NOW)
    decisions = decide(situation)
    return [decision.action for decision in decisions], changed(situation, decisions).certificates


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"", id="missing"),
        pytest.param(AUTHORITY.key[:50], id="cut"),
        pytest.param(NEXT_AUTHORITY.key, id="another's"),
    ],
)
def test_a_ca_whose_key_is_lost_is_trusted_beside_the_one_that_replaces_it(key: bytes) -> None:
    actions, made = after(Certificates(KeyPair(AUTHORITY.certificate, key), SERVING))
    assert actions == [Action.REPLACE]
    assert AUTHORITY.certificate in bundle(made)
    assert (made.stage, made.progress) == (Stage.SWITCHING, BEGUN)


def test_one_that_was_trusted_beside_it_is_trusted_still() -> None:
    content = Certificates(
        KeyPair(AUTHORITY.certificate, b""), SERVING, old_authority=OLD_AUTHORITY.certificate, progress=BEGUN
    )
    _, made = after(content)
    assert made.authority
    assert bundle(made).count(b"BEGIN") == 3


@pytest.mark.parametrize(
    "useless",
    [
        pytest.param(b"garbage", id="it is no certificate"),
        pytest.param(ENDED_AUTHORITY.certificate, id="it is over"),
        pytest.param(SERVING.certificate, id="it is no CA"),
    ],
)
def test_what_proves_nothing_is_not_kept(useless: bytes) -> None:
    actions, made = after(Certificates(KeyPair(useless, AUTHORITY.key), SERVING))
    assert actions == [Action.REPLACE]
    assert (made.old_authority, made.stage) == (b"", Stage.STEADY)


def test_after_a_change_from_cert_manager_its_ca_is_trusted_until_no_pod_serves_by_it() -> None:
    _, theirs = after(Certificates(), Facts(external=AUTHORITY.certificate), EXTERNAL)
    actions, ours = after(theirs)
    assert actions == [Action.REPLACE]
    assert AUTHORITY.certificate in bundle(ours)
    assert ours.stage is Stage.SWITCHING


def test_a_ca_adopted_during_a_rotation_leaves_both_of_it_trusted() -> None:
    content = Certificates(AUTHORITY, SERVING, old_authority=OLD_AUTHORITY.certificate, progress=BEGUN)
    actions, adopted = after(content, Facts(external=NEXT_AUTHORITY.certificate), EXTERNAL)
    assert actions == [Action.ADOPT]
    assert bundle(adopted).count(b"BEGIN") == 3


def test_every_ca_of_somebody_elses_file_is_trusted_and_what_is_none_is_left_out() -> None:
    file = b"# ours\n" + AUTHORITY.certificate + b"-----BEGIN CERTIFICATE-----\ngarbage\n" + NEXT_AUTHORITY.certificate
    _, adopted = after(Certificates(), Facts(external=file), EXTERNAL)
    assert set(bundle(adopted).split(b"-----BEGIN")) == set(
        (AUTHORITY.certificate + NEXT_AUTHORITY.certificate).split(b"-----BEGIN")
    )


def test_several_old_cas_are_not_dropped_because_one_of_them_is_over() -> None:
    old = ENDED_AUTHORITY.certificate + OLD_AUTHORITY.certificate
    content = Certificates(AUTHORITY, SERVING, old_authority=old, progress=BEGUN)
    assert after(content) == ([], content)
