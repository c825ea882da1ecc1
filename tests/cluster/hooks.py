"""Hook calls as Metacontroller makes them: POST of JSON, the hook's own CA, a bearer token from a Secret, a timeout.

CA and token are read once, when the controller starts; only a change of its spec reads them again.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import urllib3

from cli.simulator.definition import DEFAULT_HOOK_TIMEOUT_SECONDS
from cli.simulator.entry import Object
from cli.simulator.kinds import Kind
from cli.simulator.protocol import HookResponse
from sync_hooks.api.duration import parse_duration
from tests.cluster.live import LiveApi

SECRET = Kind("v1", "Secret", "secrets", generation=False)
CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of one controller, ready to be called from any thread."""

    url: str
    timeout_seconds: float
    headers: Mapping[str, str]
    pool: urllib3.PoolManager

    def call(self, body: bytes) -> HookResponse:
        """Post one request; trouble on the way is an answer of status 0 that says so."""
        try:
            answer = self.pool.request(
                "POST", self.url, body=body, headers=self.headers, timeout=self.timeout_seconds, retries=False
            )
        except urllib3.exceptions.HTTPError as error:
            return HookResponse(0, f"http error: {error}".encode())
        return HookResponse(answer.status, answer.data, _retry_after(answer.headers.get("Retry-After")))


def connect(hook: Object, api: LiveApi, addresses: Mapping[str, str]) -> Hook:
    """Make a hook of its definition; ``addresses`` says where Services really listen: ``name.namespace`` to host:port.

    Raises ApiError where its Secret cannot be read.
    """
    webhook = hook["webhook"]
    headers = {"Content-Type": "application/json"}
    if "authorization" in webhook:
        headers["Authorization"] = _authorization(webhook["authorization"], api)
    url, server_name = _address(webhook, addresses)
    context = ssl.create_default_context(cadata=webhook.get("caBundle", {}).get("inline"))
    pool = urllib3.PoolManager(
        ssl_context=context, maxsize=CONNECTIONS, server_hostname=server_name, assert_hostname=server_name
    )
    timeout = parse_duration(webhook.get("timeout", "")) or DEFAULT_HOOK_TIMEOUT_SECONDS
    return Hook(url, timeout, headers, pool)


def _address(webhook: Mapping[str, Any], addresses: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the URL to call and, where a Service is called at another address, the name its certificate must have."""
    if "url" in webhook:
        url = str(webhook["url"])
    else:
        service = webhook["service"]
        host = f"{service['name']}.{service['namespace']}:{service.get('port', 80)}"
        url = f"{service.get('protocol', 'http')}://{host}{webhook['path']}"
    parts = urlsplit(url)
    target = addresses.get(parts.hostname or "")
    if target is None:
        return url, None
    return parts._replace(netloc=target).geturl(), parts.hostname


def _authorization(authorization: Mapping[str, Any], api: LiveApi) -> str:
    reference = authorization["secretRef"]
    secret = api.get(SECRET, reference["namespace"], reference["name"])
    token = base64.b64decode(secret["data"][reference["key"]]).decode().strip()
    return f"{authorization.get('type', 'Bearer')} {token}"


def _retry_after(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return round((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0
