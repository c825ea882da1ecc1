"""Every fault of a certificate is found, and named by the first check that finds one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from certs.authority import KeyPair, issue
from certs.inspection import Reason, authority_fault, due, ended, serving_fault
from tests.support.installation import NAMES, NOW, pair

AUTHORITY, SERVING = pair()
OTHER_AUTHORITY, OTHER_SERVING = pair()
LATER = NOW + timedelta(days=5000)
BEFORE = NOW - timedelta(days=1)
ENCRYPTED = load_pem_private_key(AUTHORITY.key, None).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
)
STRANGE = b"-----BEGIN PRIVATE KEY-----\nMA4CAQAwBQYDKgMEBAIFAA==\n-----END PRIVATE KEY-----\n"  # of algorithm 1.2.3.4


@pytest.mark.parametrize(
    ("given", "now", "reason"),
    [
        pytest.param(None, NOW, Reason.MISSING, id="there is none"),
        pytest.param(KeyPair(b"garbage", AUTHORITY.key), NOW, Reason.UNREADABLE, id="it is no certificate"),
        pytest.param(KeyPair(AUTHORITY.certificate, b""), NOW, Reason.UNREADABLE, id="it has no key"),
        pytest.param(KeyPair(AUTHORITY.certificate, b"garbage"), NOW, Reason.UNREADABLE, id="its key is no key"),
        pytest.param(
            KeyPair(AUTHORITY.certificate, STRANGE), NOW, Reason.UNREADABLE, id="its key is of an unknown kind"
        ),
        pytest.param(KeyPair(AUTHORITY.certificate, ENCRYPTED), NOW, Reason.UNREADABLE, id="its key is encrypted"),
        pytest.param(KeyPair(AUTHORITY.certificate, OTHER_AUTHORITY.key), NOW, Reason.KEY_MISMATCH, id="another key"),
        pytest.param(SERVING, NOW, Reason.NOT_AN_AUTHORITY, id="it is a serving certificate"),
        pytest.param(AUTHORITY, LATER, Reason.EXPIRED, id="it is over"),
        pytest.param(AUTHORITY, BEFORE, Reason.NOT_YET_VALID, id="it has not begun"),
    ],
)
def test_a_bad_authority_is_named(given: KeyPair | None, now, reason: Reason) -> None:  # type: ignore[no-untyped-def]
    fault = authority_fault(given, now)
    assert fault is not None
    assert fault.reason is reason


def test_a_good_authority_has_no_fault() -> None:
    assert authority_fault(AUTHORITY, NOW) is None


def test_an_authority_that_only_verifies_needs_no_key() -> None:
    assert authority_fault(KeyPair(AUTHORITY.certificate, b""), NOW, with_key=False) is None


@pytest.mark.parametrize(
    ("given", "now", "reason"),
    [
        pytest.param(None, NOW, Reason.MISSING, id="there is none"),
        pytest.param(KeyPair(b"garbage", SERVING.key), NOW, Reason.UNREADABLE, id="it is no certificate"),
        pytest.param(KeyPair(SERVING.certificate, OTHER_SERVING.key), NOW, Reason.KEY_MISMATCH, id="another key"),
        pytest.param(OTHER_SERVING, NOW, Reason.FOREIGN, id="another CA of the same name signed it"),
        pytest.param(issue(AUTHORITY, NAMES[:1], NOW), NOW, Reason.WRONG_NAMES, id="it lacks a name"),
        pytest.param(SERVING, NOW + timedelta(days=366), Reason.EXPIRED, id="it is over"),
        pytest.param(SERVING, BEFORE, Reason.NOT_YET_VALID, id="it has not begun"),
    ],
)
def test_a_bad_serving_certificate_is_named(given: KeyPair | None, now, reason: Reason) -> None:  # type: ignore[no-untyped-def]
    fault = serving_fault(given, AUTHORITY, NAMES, now)
    assert fault is not None
    assert fault.reason is reason


def test_a_good_serving_certificate_has_no_fault() -> None:
    assert serving_fault(SERVING, AUTHORITY, NAMES, NOW) is None


@pytest.mark.parametrize(("day", "expected"), [(0, False), (273, False), (274, True), (364, True)])
def test_a_certificate_of_a_year_is_renewed_in_its_last_quarter(day: int, expected: bool) -> None:
    assert (due(SERVING.certificate, 0.25, NOW + timedelta(days=day)) is not None) is expected


def test_what_is_no_certificate_is_over_and_not_due() -> None:
    assert ended(b"garbage", NOW)
    assert due(b"garbage", 0.25, NOW) is None
