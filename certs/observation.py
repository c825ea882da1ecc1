"""Looks at all that credentials have to do with: clients first, then the Secret, then what replicas say of themselves.

The order matters: whoever reads a client before the Secret cannot write to that client what another replica, which has
changed the Secret in between, has already overtaken. Changes nothing.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from certs.api import NOT_FOUND, UNREACHABLE, Api, ApiError, Object
from certs.bundle import Patch, TokenReference, bundle, controller_patch, shows, webhook_patch
from certs.credentials import ANNOUNCING, USING, Credentials
from certs.installation import Client, ClientKind, Installation
from certs.replicas import Replicas
from certs.situation import Facts, Seen

ROTATE = "cre.nvidia.com/rotate"
"""An annotation of the Secret that asks for a rotation now; its value does not matter, and it is removed."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Observation:
    """What was read."""

    clients: tuple[tuple[Client, Object], ...]
    """Those that there are."""
    complete: bool
    """Whether every client could be read, or is known not to be there."""
    secret: Object
    data: Mapping[str, bytes]
    external: Mapping[str, bytes]
    """Data of the Secret that somebody else keeps; empty where there is none."""


def observe(api: Api, installation: Installation) -> Observation:
    """Read everything. Raises ApiError where the Secret cannot be read."""
    found = [(client, _read_client(api, client)) for client in installation.clients]
    secret = api.get(installation.secret_path)
    external = _data(api.get(installation.serving_secret_path)) if installation.serving_secret else {}
    return Observation(
        clients=tuple((client, live) for client, live in found if live),
        complete=all(live is not None for _, live in found),
        secret=secret,
        data=_data(secret),
        external=external,
    )


def facts(
    installation: Installation,
    observation: Observation,
    credentials: Credentials,
    replicas: Replicas,
    remembered: Credentials | None,
) -> Facts:
    """Tell the policy what was found; replicas are asked only where a rotation waits for them."""
    patches = [patch_of(client, live, installation, credentials) for client, live in observation.clients]
    token = token_reference(installation, credentials)
    controllers = [live for client, live in observation.clients if client.kind is ClientKind.CONTROLLER]
    return Facts(
        trusted=observation.complete and not any(patches),
        shown=observation.complete and all(shows(live, token) for live in controllers),
        served=_served(observation, credentials, replicas),
        accepted=_accepted(credentials, replicas),
        asked=ROTATE in observation.secret["metadata"].get("annotations", {}),
        external=observation.external.get("ca.crt"),
        remembered=remembered,
    )


def patch_of(client: Client, live: Object, installation: Installation, credentials: Credentials) -> Patch | None:
    """Return what a client must be told, None where it knows all, or where there is no CA yet."""
    trusted = bundle(credentials.certificates)
    if not trusted:
        return None
    if client.kind is ClientKind.WEBHOOKS:
        return webhook_patch(live, trusted)
    return controller_patch(live, trusted, token_reference(installation, credentials))


def token_reference(installation: Installation, credentials: Credentials) -> TokenReference:
    """Say where the current token is found."""
    return TokenReference(installation.namespace, installation.secret, credentials.tokens.current)


def _read_client(api: Api, client: Client) -> Object | None:
    """Return a client, an empty object where there is none, None where it cannot be read."""
    try:
        return api.get(client.path)
    except ApiError as error:
        if error.status == NOT_FOUND:
            return {}
        if error.status == UNREACHABLE:  # nothing else could be read either
            raise
        log.warning("whom %s trusts cannot be seen: %s", client.path, error)
        return None


def _served(observation: Observation, credentials: Credentials, replicas: Replicas) -> Seen:
    certificates = credentials.certificates
    current = certificates.serving.certificate if certificates.serving else observation.external.get("tls.crt")
    if certificates.stage not in USING or current is None:
        return Seen.UNKNOWN
    return replicas.serving(current)


def _accepted(credentials: Credentials, replicas: Replicas) -> Seen:
    tokens = credentials.tokens
    if tokens.stage not in ANNOUNCING or tokens.next is None:
        return Seen.UNKNOWN
    return replicas.accepting(tokens.values[tokens.next], bundle(credentials.certificates))


def _data(secret: Object) -> dict[str, bytes]:
    return {key: _decoded(value) for key, value in sorted((secret.get("data") or {}).items())}


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):  # TypeError: null
        return b""
