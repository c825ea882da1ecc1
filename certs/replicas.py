"""Asks the replicas behind our Services whether they are as far as a rotation. Believes nothing but what it sees.

A replica that cannot be reached is unknown: nobody else reaches it either, or a network policy keeps only us away.
"""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from certs.api import Api, ApiError, Object
from certs.installation import Installation
from certs.situation import Seen

SECONDS = 2.0  # for one question to one replica
NO_HOOK = "/hooks/none/none"  # who may not call is told so before there is any question of which hook
UNAUTHORIZED = 401

log = logging.getLogger(__name__)


class Replicas(Protocol):
    """The pods behind our two Services."""

    def serving(self, certificate: bytes) -> Seen:
        """Tell whether all of them serve a certificate (PEM)."""

    def accepting(self, token: str, trusted: bytes) -> Seen:
        """Tell whether those of the hooks accept a token."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one replica listens, and the name that it is called by."""

    address: str
    port: int
    server_name: str


@dataclass(frozen=True, slots=True)
class ServiceReplicas:
    """The pods as the API server's EndpointSlices list them; ready or not, but for those on their way out."""

    api: Api
    installation: Installation

    def serving(self, certificate: bytes) -> Seen:
        """Tell whether all of them serve a certificate (PEM)."""
        services = (self.installation.admission_service, self.installation.hooks_service)
        return self._ask(services, lambda endpoints: serving(endpoints, certificate))

    def accepting(self, token: str, trusted: bytes) -> Seen:
        """Tell whether those of the hooks accept a token."""
        services = (self.installation.hooks_service,)
        return self._ask(services, lambda endpoints: accepting(endpoints, token, trusted))

    def _ask(self, services: Iterable[str], question: Callable[[list[Endpoint]], Seen]) -> Seen:
        try:
            return question([endpoint for service in services for endpoint in self._endpoints(service)])
        except (ApiError, ValueError) as error:  # ValueError: a certificate of somebody else that cannot be read
            log.warning("the replicas cannot be asked: %s", error)
            return Seen.UNKNOWN

    def _endpoints(self, service: str) -> list[Endpoint]:
        slices = self.api.get(self.installation.slices_path(service))["items"]
        name = self.installation.server_name(service)
        return [
            Endpoint(address, port["port"], name)
            for endpoint_slice in slices
            for port in endpoint_slice.get("ports") or ()
            if port.get("name") == "https"
            for address in _addresses(endpoint_slice)
        ]


def serving(replicas: Iterable[Endpoint], certificate: bytes) -> Seen:
    """Tell whether all of them serve a certificate (PEM)."""
    wanted = ssl.PEM_cert_to_DER_cert(certificate.decode("ascii", "replace"))
    return _all(replicas, lambda endpoint: _served(endpoint) == wanted)


def accepting(replicas: Iterable[Endpoint], token: str, trusted: bytes) -> Seen:
    """Tell whether all of them accept a token; each must prove with a trusted CA who it is before it is shown.

    Raises ValueError for a CA that cannot be read.
    """
    try:
        context = ssl.create_default_context(cadata=trusted.decode("ascii", "replace"))
    except ssl.SSLError as error:
        raise ValueError(f"the CA cannot be read: {error}") from error
    return _all(replicas, lambda endpoint: _accepts(endpoint, token, context))


def _all(replicas: Iterable[Endpoint], asks: Callable[[Endpoint], bool]) -> Seen:
    found = Seen.ALL
    for endpoint in replicas:
        try:
            if not asks(endpoint):
                return Seen.NOT_ALL
        except (OSError, http.client.HTTPException):
            found = Seen.UNKNOWN
    return found


def _addresses(endpoint_slice: Object) -> list[str]:
    items = endpoint_slice.get("endpoints") or []
    return [item["addresses"][0] for item in items if not (item.get("conditions") or {}).get("terminating")]


def _served(endpoint: Endpoint) -> bytes | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is looked at, and nothing is told to it
    with _connection(endpoint, context) as connection:
        return connection.getpeercert(binary_form=True)


def _accepts(endpoint: Endpoint, token: str, context: ssl.SSLContext) -> bool:
    with _connection(endpoint, context) as connection:
        client = http.client.HTTPConnection(endpoint.server_name, timeout=SECONDS)
        client.sock = connection
        client.request("POST", NO_HOOK, body=b"", headers={"Authorization": f"Bearer {token}"})
        return client.getresponse().status != UNAUTHORIZED


def _connection(endpoint: Endpoint, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection((endpoint.address, endpoint.port), timeout=SECONDS)
    try:
        return context.wrap_socket(plain, server_hostname=endpoint.server_name)
    except OSError:
        plain.close()
        raise
