"""What the chart installed, by name: the Secret, who trusts what is in it, and who serves it. Makes only paths."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ClientKind(StrEnum):
    """What kind of object tells somebody whom to trust."""

    WEBHOOKS = "Webhooks"
    CONTROLLER = "Controller"


@dataclass(frozen=True, slots=True)
class Client:
    """An object that tells the API server or Metacontroller whom to trust."""

    kind: ClientKind
    path: str


@dataclass(frozen=True, slots=True)
class Installation:
    """One release of the chart."""

    namespace: str
    secret: str
    """The Secret that all of this is about. The chart makes it, empty."""
    admission_service: str
    hooks_service: str
    webhook_configuration: str = ""
    """Name of our mutating and our validating configuration; empty where somebody else keeps their CA."""
    controllers: tuple[str, ...] = ()
    serving_secret: str = ""
    """Secret of certificates that somebody else makes; empty where they are made here."""
    folder: Path | None = None
    """Where this pod's server reads its certificate; unset where its volume has it already."""

    @property
    def secret_path(self) -> str:
        """Path of the Secret."""
        return self._secret(self.secret)

    @property
    def serving_secret_path(self) -> str:
        """Path of the Secret that somebody else keeps."""
        return self._secret(self.serving_secret)

    @property
    def events_path(self) -> str:
        """Path of the namespace's events."""
        return f"/api/v1/namespaces/{self.namespace}/events"

    @property
    def clients(self) -> tuple[Client, ...]:
        """Everything that must know the CA, by name: nothing else is ever touched."""
        webhooks = "/apis/admissionregistration.k8s.io/v1"
        kinds = (
            ("mutatingwebhookconfigurations", "validatingwebhookconfigurations") if self.webhook_configuration else ()
        )
        paths = [f"{webhooks}/{kind}/{self.webhook_configuration}" for kind in kinds]
        controllers = "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers"
        return (
            *(Client(ClientKind.WEBHOOKS, path) for path in paths),
            *(Client(ClientKind.CONTROLLER, f"{controllers}/{name}") for name in self.controllers),
        )

    def server_name(self, service: str) -> str:
        """Return the DNS name that a Service's certificate must have."""
        return f"{service}.{self.namespace}.svc"

    def slices_path(self, service: str) -> str:
        """Return the path of the EndpointSlices of a Service."""
        query = f"labelSelector=kubernetes.io%2Fservice-name%3D{service}"
        return f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices?{query}"

    def _secret(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{name}"
