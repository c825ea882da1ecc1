"""An installed chart as the rotator meets it: names, and the objects of an API server, valid by default."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from certs.authority import KeyPair, issue, make_authority
from certs.credentials import Certificates, Credentials, Tokens, read, write
from certs.installation import ClientKind, Installation
from certs.settings import Settings
from tests.support.fakeapi import FakeApi

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
TOKEN = "a" * 43
INSTALLATION = Installation(
    namespace="readiness",
    secret="run-tls",
    admission_service="run-admission",
    hooks_service="run-hooks",
    webhook_configuration="run",
    controllers=("cre-workloadruns", "cre-jobs-devices"),
)
NAMES = ("run-admission.readiness.svc", "run-hooks.readiness.svc")
SETTINGS = Settings(NAMES)


def certificates(now: datetime = NOW, **changes: Any) -> Certificates:
    """Make a CA and a serving certificate that it signed; keywords replace fields."""
    authority = make_authority(now)
    return Certificates(**{"authority": authority, "serving": issue(authority, NAMES, now), **changes})


def credentials(now: datetime = NOW, **changes: Any) -> Credentials:
    """Make credentials that nothing is wrong with; keywords replace fields of the certificates."""
    return Credentials(certificates(now, **changes), Tokens({1: TOKEN}, 1, made=now))


def pair(now: datetime = NOW, *, days: float = 3650, names: tuple[str, ...] = NAMES) -> tuple[KeyPair, KeyPair]:
    """Make a CA that lives so long, and a serving certificate of it."""
    authority = make_authority(now, timedelta(days=days))
    return authority, issue(authority, names, now)


def secret(data: Mapping[str, bytes] | None = None, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Write the Secret with this content; without any, as the chart makes it."""
    metadata: dict[str, Any] = {"name": INSTALLATION.secret, "namespace": INSTALLATION.namespace, "uid": "uid-secret"}
    if annotations:
        metadata["annotations"] = dict(annotations)
    encoded = {key: base64.b64encode(value).decode() for key, value in (data or {}).items()}
    return {"metadata": metadata, "type": "Opaque", **({"data": encoded} if encoded else {})}


def webhooks() -> dict[str, Any]:
    """Write a webhook configuration as the chart installs it, with a second webhook to tell them apart."""
    entries = [{"name": name, "clientConfig": {"service": {"name": "run-admission"}}} for name in ("a.cre", "b.cre")]
    return {"metadata": {"name": "run"}, "webhooks": entries}


def controller(name: str, *hooks: str) -> dict[str, Any]:
    """Write a CompositeController as the chart installs it."""
    written = {
        hook: {"version": "v2", "webhook": {"url": f"https://run-hooks.readiness.svc:443/hooks/{name}/{hook}"}}
        for hook in hooks or ("sync",)
    }
    return {"metadata": {"name": name}, "spec": {"generateSelector": True, "hooks": written}}


def cluster(content: Credentials | None = None) -> FakeApi:
    """Return an API server with a fresh installation, or with this content of its Secret."""
    api = FakeApi({INSTALLATION.secret_path: secret(write(content) if content else None)})
    for client in INSTALLATION.clients:
        name = client.path.rpartition("/")[2]
        hooks = ("sync", "finalize") if name == "cre-jobs-devices" else ("sync",)
        api.store(client.path, webhooks() if client.kind is ClientKind.WEBHOOKS else controller(name, *hooks))
    return api


def stored(api: FakeApi) -> Credentials:
    """Read the Secret as it stands."""
    data = api.get(INSTALLATION.secret_path).get("data", {})
    return read({key: base64.b64decode(value) for key, value in data.items()})


def bundles(api: FakeApi) -> list[bytes]:
    """Return whom every webhook and every hook trusts."""
    found: list[bytes] = []
    for client in INSTALLATION.clients:
        live = api.get(client.path)
        if client.kind is ClientKind.WEBHOOKS:
            found += [base64.b64decode(entry["clientConfig"].get("caBundle", "")) for entry in live["webhooks"]]
        else:
            hooks = live["spec"]["hooks"].values()
            found += [hook["webhook"].get("caBundle", {}).get("inline", "").encode() for hook in hooks]
    return found


def shown(api: FakeApi) -> set[str]:
    """Return the Secret's keys that CompositeControllers show tokens from."""
    lives = [api.get(client.path) for client in INSTALLATION.clients if client.kind is ClientKind.CONTROLLER]
    hooks = [hook["webhook"] for live in lives for hook in live["spec"]["hooks"].values()]
    return {hook["authorization"]["secretRef"]["key"] for hook in hooks if "authorization" in hook}
