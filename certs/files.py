"""Puts a certificate where this pod's server reads it: whole files, the key first. Reads nothing from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from certs.authority import KeyPair

CERTIFICATE = "tls.crt"
KEY = "tls.key"


def stored(folder: Path) -> KeyPair | None:
    """Return the certificate that lies there, None where there is none."""
    try:
        return KeyPair((folder / CERTIFICATE).read_bytes(), (folder / KEY).read_bytes())
    except FileNotFoundError:
        return None


def store(folder: Path, pair: KeyPair) -> bool:
    """Write a certificate, and tell whether that changed anything. Between the two files the server keeps the old."""
    if stored(folder) == pair:
        return False
    _write(folder / KEY, pair.key)
    _write(folder / CERTIFICATE, pair.certificate)
    return True


def _write(path: Path, content: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    new.replace(path)
