"""What is wrong with a certificate: named checks in order, the first that finds something wins. Pure: time is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from certs.authority import KeyPair


class Reason(StrEnum):
    """Why credentials are replaced."""

    MISSING = "Missing"
    UNREADABLE = "Unreadable"
    KEY_MISMATCH = "KeyMismatch"
    NOT_AN_AUTHORITY = "NotAnAuthority"
    FOREIGN = "Foreign"
    WRONG_NAMES = "WrongNames"
    NOT_YET_VALID = "NotYetValid"
    EXPIRED = "Expired"
    DUE = "DueForRenewal"
    ASKED = "Asked"
    CHANGED_ELSEWHERE = "ChangedElsewhere"
    ALL_READY = "AllReady"
    PATIENCE_OVER = "PatienceOver"
    SETTLED = "Settled"
    UNDONE = "Undone"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a certificate, in one word and in one line."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class _Subject:
    """A certificate that could be read, its key where one is needed, and what it is held against."""

    certificate: x509.Certificate
    key: bytes
    now: datetime
    issuer: x509.Certificate | None = None
    names: tuple[str, ...] = ()


_Check = Callable[[_Subject], Fault | None]
_BEGIN = b"-----BEGIN "  # of every part of a PEM text


def authority_fault(pair: KeyPair | None, now: datetime, *, with_key: bool = True) -> Fault | None:
    """Say what makes a CA unusable, None where nothing does."""
    checks: tuple[_Check, ...] = (_no_authority, _not_yet_valid, _expired)
    return _fault("CA", pair, now, ((_key_mismatch, *checks) if with_key else checks))


def serving_fault(pair: KeyPair | None, authority: KeyPair, names: tuple[str, ...], now: datetime) -> Fault | None:
    """Say what makes a serving certificate unusable, None where nothing does. The authority must have no fault."""
    issuer = load(authority.certificate)
    return _fault("serving certificate", pair, now, _SERVING_CHECKS, issuer, names)


def due(certificate: bytes, fraction: float, now: datetime) -> Fault | None:
    """Say that a readable certificate has reached the last part of its life, None where it has not."""
    found = load(certificate)
    if found is None:
        return None
    start, end = found.not_valid_before_utc, found.not_valid_after_utc
    renew_at = end - (end - start) * fraction
    if now < renew_at:
        return None
    return Fault(Reason.DUE, f"it ends at {_stamp(end)} and was to be renewed from {_stamp(renew_at)}")


def ended(certificate: bytes, now: datetime) -> bool:
    """Tell whether a certificate is over, or is none."""
    found = load(certificate)
    return found is None or now >= found.not_valid_after_utc


def load(certificate: bytes) -> x509.Certificate | None:
    """Read the first certificate of a PEM text, None where there is none."""
    try:
        return x509.load_pem_x509_certificate(certificate)
    except ValueError:
        return None


def load_all(certificates: bytes) -> tuple[x509.Certificate, ...]:
    """Read every certificate of a PEM text; what cannot be read is left out."""
    blocks = certificates.split(_BEGIN)[1:]
    return tuple(found for block in blocks if (found := load(_BEGIN + block)))


def usable(authorities: bytes, now: datetime) -> bytes:
    """Return those CAs of a PEM text by which a client can verify a server now, PEM."""
    texts = [found.public_bytes(Encoding.PEM) for found in load_all(authorities)]
    return b"".join(text for text in texts if authority_fault(KeyPair(text, b""), now, with_key=False) is None)


def _fault(
    what: str,
    pair: KeyPair | None,
    now: datetime,
    checks: tuple[_Check, ...],
    issuer: x509.Certificate | None = None,
    names: tuple[str, ...] = (),
) -> Fault | None:
    if pair is None:
        return Fault(Reason.MISSING, f"there is no {what}")
    certificate = load(pair.certificate)
    if certificate is None:
        return Fault(Reason.UNREADABLE, f"the {what} is no certificate")
    subject = _Subject(certificate, pair.key, now, issuer, names)
    found = next((fault for check in checks if (fault := check(subject))), None)
    return Fault(found.reason, f"the {what} {found.message}") if found else None


def _key_mismatch(subject: _Subject) -> Fault | None:
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    try:
        key = load_pem_private_key(subject.key, password=None).public_key().public_bytes(*form)
        certified = subject.certificate.public_key().public_bytes(*form)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        return Fault(Reason.UNREADABLE, "has a key that cannot be read")
    if key != certified:
        return Fault(Reason.KEY_MISMATCH, "has another certificate's key")
    return None


def _no_authority(subject: _Subject) -> Fault | None:
    try:
        constraints = subject.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return Fault(Reason.NOT_AN_AUTHORITY, "may not sign others")
    return None if constraints.ca else Fault(Reason.NOT_AN_AUTHORITY, "may not sign others")


def _foreign(subject: _Subject) -> Fault | None:
    try:
        if subject.issuer is not None:
            subject.certificate.verify_directly_issued_by(subject.issuer)
            return None
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        pass
    return Fault(Reason.FOREIGN, "was not signed by the CA")


def _wrong_names(subject: _Subject) -> Fault | None:
    missing = sorted(set(subject.names) - _names(subject.certificate))
    return Fault(Reason.WRONG_NAMES, f"does not name {', '.join(missing)}") if missing else None


def _not_yet_valid(subject: _Subject) -> Fault | None:
    start = subject.certificate.not_valid_before_utc
    return Fault(Reason.NOT_YET_VALID, f"is not valid before {_stamp(start)}") if subject.now < start else None


def _expired(subject: _Subject) -> Fault | None:
    end = subject.certificate.not_valid_after_utc
    return Fault(Reason.EXPIRED, f"ended at {_stamp(end)}") if subject.now >= end else None


_SERVING_CHECKS: tuple[_Check, ...] = (_key_mismatch, _foreign, _wrong_names, _not_yet_valid, _expired)


def _names(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return set()
    addresses = found.get_values_for_type(x509.IPAddress)
    return {*found.get_values_for_type(x509.DNSName), *(str(address) for address in addresses)}


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
