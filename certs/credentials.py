"""What the Secret holds: CA, serving certificate, tokens, and how far the rotation of each has come.

Reading is total: what cannot be understood is absent, and the policy says what becomes of it. Judges nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from certs.authority import KeyPair

OLD_CA_CERTIFICATE = "old-ca.crt"
ROTATION = "rotation.json"
TOKENS = "tokens"
_PAIRS = {"authority": "ca", "serving": "tls", "next_authority": "next-ca", "next_serving": "next-tls"}
_TOKEN_KEY = re.compile(r"token-([1-9][0-9]{0,8})")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,256}")


class Stage(StrEnum):
    """How far a rotation has come. What is new is published first, then used, and what is old is dropped last."""

    STEADY = "Steady"
    PUBLISHING = "Publishing"
    """There is a next one, and not all who have to know it are known to."""
    PUBLISHED = "Published"
    """All are known to know it; they are given time to act on it."""
    SWITCHING = "Switching"
    """It is the current one, and not all are known to use it."""
    SWITCHED = "Switched"
    """All are known to use it; the old one is still accepted."""


ANNOUNCING = (Stage.PUBLISHING, Stage.PUBLISHED)
USING = (Stage.SWITCHING, Stage.SWITCHED)


@dataclass(frozen=True, slots=True)
class Progress:
    """When a rotation began to publish or to switch, and when that was seen to have reached everybody.

    Each by the clock of the replica that wrote it, so a stamp only tells that it is there, or is another one.
    """

    since: datetime | None = None
    confirmed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Certificates:
    """CA and serving certificate: current, next, and the CAs that are still trusted. External CAs have an empty key."""

    authority: KeyPair | None = None
    serving: KeyPair | None = None
    next_authority: KeyPair | None = None
    next_serving: KeyPair | None = None
    old_authority: bytes = b""
    progress: Progress = Progress()

    @property
    def stage(self) -> Stage:
        """How far their rotation has come."""
        return _stage(next_one=self.next_authority is not None, old=bool(self.old_authority), progress=self.progress)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that the hooks accept, by number, and the number of the one that is shown to them."""

    values: Mapping[int, str] = field(default_factory=dict)
    current: int = 0
    made: datetime | None = None
    """When the current one was made."""
    progress: Progress = Progress()

    @property
    def next(self) -> int | None:
        """Number of the one that comes after the current, None where there is none yet."""
        return max((number for number in self.values if number > self.current), default=None)

    @property
    def stage(self) -> Stage:
        """How far their rotation has come."""
        old = any(number < self.current for number in self.values)
        return _stage(next_one=self.next is not None, old=old, progress=self.progress)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything that one Secret says."""

    certificates: Certificates = Certificates()
    tokens: Tokens = Tokens()


def token_key(number: int) -> str:
    """Name the Secret's key that holds one token; a rotation changes it, which Metacontroller notices."""
    return f"token-{number}"


def read(data: Mapping[str, bytes]) -> Credentials:
    """Read a Secret's data, whatever it is."""
    rotation = _object(data.get(ROTATION, b""))
    certificates, tokens = _map(rotation.get("certificates")), _map(rotation.get("tokens"))
    return Credentials(
        certificates=Certificates(
            **{name: _pair(data, prefix) for name, prefix in _PAIRS.items()},
            old_authority=data.get(OLD_CA_CERTIFICATE, b""),
            progress=_progress(certificates),
        ),
        tokens=_tokens(data, tokens),
    )


def write(credentials: Credentials) -> dict[str, bytes]:
    """Write credentials as a Secret's data; what is absent has no key."""
    certificates, tokens = credentials.certificates, credentials.tokens
    data: dict[str, bytes] = {}
    for name, prefix in _PAIRS.items():
        pair: KeyPair | None = getattr(certificates, name)
        if pair is not None:
            data |= {f"{prefix}.crt": pair.certificate, f"{prefix}.key": pair.key}
    data[OLD_CA_CERTIFICATE] = certificates.old_authority
    data |= {token_key(number): value.encode() for number, value in tokens.values.items()}
    data[TOKENS] = "".join(f"{value}\n" for _, value in sorted(tokens.values.items())).encode()
    data[ROTATION] = _rotation(certificates, tokens)
    return {key: data[key] for key in sorted(data) if data[key]}


def is_ours(key: str) -> bool:
    """Tell whether a key of the Secret is one that is written here; others are left as they are."""
    pairs = {f"{prefix}.{end}" for prefix in _PAIRS.values() for end in ("crt", "key")}
    return key in pairs | {OLD_CA_CERTIFICATE, ROTATION, TOKENS} or _TOKEN_KEY.fullmatch(key) is not None


def _stage(*, next_one: bool, old: bool, progress: Progress) -> Stage:
    if next_one:
        return Stage.PUBLISHED if progress.confirmed else Stage.PUBLISHING
    if old:
        return Stage.SWITCHED if progress.confirmed else Stage.SWITCHING
    return Stage.STEADY


def _pair(data: Mapping[str, bytes], prefix: str) -> KeyPair | None:
    certificate = data.get(f"{prefix}.crt", b"")
    return KeyPair(certificate, data.get(f"{prefix}.key", b"")) if certificate else None


def _tokens(data: Mapping[str, bytes], rotation: Mapping[str, Any]) -> Tokens:
    values: dict[int, str] = {}
    for key in sorted(data):
        number, text = _TOKEN_KEY.fullmatch(key), data[key].decode("ascii", "replace")
        if number and _TOKEN.fullmatch(text):
            values[int(number[1])] = text
    current = rotation.get("current")
    if not isinstance(current, int) or current not in values:
        current = max(values, default=0)  # lost or spoilt: the newest is the one that most probably is in use
    return Tokens(values, current, _time(rotation.get("made")), _progress(rotation))


def _rotation(certificates: Certificates, tokens: Tokens) -> bytes:
    stamps = [
        {"since": _text(part.progress.since), "confirmed": _text(part.progress.confirmed)}
        for part in (certificates, tokens)
    ]
    content = {
        "certificates": stamps[0],
        "tokens": {"current": tokens.current, "made": _text(tokens.made), **stamps[1]},
    }
    return json.dumps(content, sort_keys=True).encode()


def _progress(content: Mapping[str, Any]) -> Progress:
    return Progress(_time(content.get("since")), _time(content.get("confirmed")))


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        return _map(json.loads(content))
    except (ValueError, RecursionError):
        return {}


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(time: datetime | None) -> str:
    return time.astimezone(UTC).isoformat() if time else ""


def _time(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
        return time.astimezone(UTC) if time.tzinfo else None
    except (ValueError, OverflowError):  # OverflowError: the first or the last hours of all time
        return None
