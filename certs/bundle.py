"""Which CAs clients trust at each stage, and what that changes in a live object. Pure; patches name what differs only.

The order of a bundle is the CAs' age, so that it changes twice in a rotation: when a CA comes and when one goes. Every
change of a CompositeController restarts it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from certs.credentials import Certificates, token_key
from certs.inspection import load_all

Object = Mapping[str, Any]
Patch = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TokenReference:
    """Where Metacontroller finds the token that it shows to the hooks."""

    namespace: str
    secret: str
    number: int


def bundle(certificates: Certificates) -> bytes:
    """Return the CAs that clients must trust, PEM, the oldest first; those that cannot be read are left out."""
    pairs = (certificates.authority, certificates.next_authority)
    texts = [certificates.old_authority, *(pair.certificate for pair in pairs if pair)]
    found = {
        (certificate.not_valid_before_utc, certificate.public_bytes(Encoding.PEM))
        for text in texts
        for certificate in load_all(text)
    }
    return b"".join(text for _, text in sorted(found))


def webhook_patch(live: Object, trusted: bytes) -> Patch | None:
    """Return the strategic merge patch that makes all webhooks of a configuration trust a bundle, None if they do."""
    wanted = base64.b64encode(trusted).decode()
    names = [
        webhook["name"] for webhook in live.get("webhooks", ()) if webhook["clientConfig"].get("caBundle") != wanted
    ]
    if not names:
        return None
    webhooks = [{"name": name, "clientConfig": {"caBundle": wanted}} for name in names]
    return {**_version(live), "webhooks": webhooks}


def controller_patch(live: Object, trusted: bytes, token: TokenReference) -> Patch | None:
    """Return the merge patch that makes a CompositeController trust a bundle and show a token, None if it does."""
    wanted = {"caBundle": {"inline": trusted.decode()}, "authorization": _authorization(token)}
    hooks = {
        name: {"webhook": change}
        for name, hook in sorted(live["spec"].get("hooks", {}).items())
        if "webhook" in hook and (change := _merge(hook["webhook"], wanted))
    }
    return {**_version(live), "spec": {"hooks": hooks}} if hooks else None


def shows(live: Object, token: TokenReference) -> bool:
    """Tell whether every hook of a CompositeController is called with a token."""
    hooks = [hook["webhook"] for hook in live["spec"].get("hooks", {}).values() if "webhook" in hook]
    return all(hook.get("authorization") == _authorization(token) for hook in hooks)


def _authorization(token: TokenReference) -> dict[str, Any]:
    reference = {"name": token.secret, "namespace": token.namespace, "key": token_key(token.number)}
    return {"type": "Bearer", "secretRef": reference}


def _version(live: Object) -> Patch:
    """Bind a patch to what was read: the API server refuses it where the object has changed since."""
    return {"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}}


def _merge(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> Patch:
    """Return what must be merged so that these fields are exactly as wanted; other fields stay as they are."""
    return {key: _replacement(live.get(key), value) for key, value in wanted.items() if live.get(key) != value}


def _replacement(live: object, wanted: Mapping[str, Any]) -> dict[str, Any]:
    unwanted = dict.fromkeys(set(live) - set(wanted)) if isinstance(live, Mapping) else {}
    return {**dict(sorted(unwanted.items())), **wanted}
