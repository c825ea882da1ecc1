"""A CA of our own, and serving certificates that clients trust by it alone."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.authority import CLOCK_SKEW, SERVING_LIFETIME, KeyPair, issue, make_authority

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ["workloadrun.system.svc", "127.0.0.1"]


def read(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def verify(pair: KeyPair, authority: KeyPair, moment: datetime, name: str = NAMES[0]) -> None:
    builder = PolicyBuilder().store(Store([read(authority)])).time(moment)
    builder.build_server_verifier(x509.DNSName(name)).verify(read(pair), [])


def test_a_client_that_trusts_the_authority_trusts_the_server() -> None:
    authority = make_authority(NOW)
    verify(issue(authority, NAMES, NOW), authority, NOW)


def test_another_authority_of_the_same_name_is_not_trusted() -> None:
    serving = issue(make_authority(NOW), NAMES, NOW)
    with pytest.raises(VerificationError):
        verify(serving, make_authority(NOW), NOW)


def test_another_name_is_not_trusted() -> None:
    authority = make_authority(NOW)
    with pytest.raises(VerificationError):
        verify(issue(authority, NAMES, NOW), authority, NOW, "other.system.svc")


@pytest.mark.parametrize(
    ("moment", "valid"),
    [(NOW - CLOCK_SKEW, True), (NOW + SERVING_LIFETIME, True), (NOW + SERVING_LIFETIME + timedelta(days=1), False)],
    ids=["clocks-differ", "last-day", "expired"],
)
def test_it_is_valid_for_its_lifetime(moment: datetime, valid: bool) -> None:
    authority = make_authority(NOW)
    serving = issue(authority, NAMES, NOW)
    if valid:
        verify(serving, authority, moment)
    else:
        with pytest.raises(VerificationError):
            verify(serving, authority, moment)


def test_it_ends_no_later_than_its_authority() -> None:
    authority = make_authority(NOW, timedelta(days=10))
    serving = issue(authority, NAMES, NOW, timedelta(days=90))
    assert read(serving).not_valid_after_utc == read(authority).not_valid_after_utc


def test_names_and_addresses_are_what_they_are() -> None:
    names = read(issue(make_authority(NOW), NAMES, NOW)).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [NAMES[0]]
    assert names.value.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1")]


def test_a_server_without_a_name_gets_no_certificate() -> None:
    with pytest.raises(ValueError, match="at least one name"):
        issue(make_authority(NOW), [], NOW)


def test_openssl_takes_certificate_and_key(tmp_path: Path) -> None:
    serving = issue(make_authority(NOW), NAMES, NOW)
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(serving.certificate)
    key.write_bytes(serving.key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
