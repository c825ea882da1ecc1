"""A certificate authority in a folder: the control plane's, and the tests' own webhooks' too.

Keys are P-256: a control plane is started often, and RSA keys would take as long as etcd. Protects nothing.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=365)  # a developer's control plane may stay up for weeks
CLOCK_SKEW = timedelta(hours=1)

_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Where a certificate and its key lie, PEM both."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA whose certificate and key lie in ``folder`` as ca.crt and ca.key."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """The CA's certificate, PEM."""
        return self.folder / "ca.crt"

    @property
    def bundle(self) -> str:
        """The CA's certificate as ``caBundle`` fields want it: base64 of the PEM."""
        return base64.b64encode(self.certificate.read_bytes()).decode()

    def issue(
        self, name: str, common_name: str, *, hosts: Sequence[str] = (), group: str = "", folder: Path | None = None
    ) -> Identity:
        """Issue ``<name>.crt`` and ``<name>.key`` for a server at ``hosts`` (IPs, DNS names) or a client of a group."""
        issuer = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        signing_key = load_pem_private_key((self.folder / "ca.key").read_bytes(), password=None)
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
        builder = (
            _certificate(_subject(common_name, group), issuer.subject, key, signing_key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return _write(folder or self.folder, name, builder.sign(signing_key, hashes.SHA256()), key)


def create_authority(folder: Path) -> Authority:
    """Make a new CA in a folder, and beside it the key pair that signs service account tokens (sa.key, sa.pub)."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject("local control plane", "")
    builder = (
        _certificate(subject, subject, key, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_SIGNS_CERTIFICATES, critical=True)
    )
    _write(folder, "ca", builder.sign(key, hashes.SHA256()), key)
    tokens = ec.generate_private_key(ec.SECP256R1())
    _write_key(folder / "sa.key", tokens)
    public = tokens.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "sa.pub").write_bytes(public)
    return Authority(folder)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, signing_key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        # both identifiers, and the CA's usage, are what strict verification (Python 3.13 and newer) asks for
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(of_issuer, critical=False)
    )


def _subject(common_name: str, group: str) -> x509.Name:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Identity:
    folder.mkdir(parents=True, exist_ok=True)
    identity = Identity(folder / f"{name}.crt", folder / f"{name}.key")
    identity.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    _write_key(identity.key, key)
    return identity


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
