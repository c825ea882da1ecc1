"""The controller of ComputeDomains: makes the ResourceClaimTemplate by which pods claim their channel, no more."""

from __future__ import annotations

from cli.simulator.clock import Clock
from cli.simulator.entry import Change, Entry, owned_by
from cli.simulator.kinds import COMPUTE_DOMAIN, RESOURCE_CLAIM_TEMPLATE
from cli.simulator.reconcile import Loop
from cli.simulator.store import Store

ACTOR = "compute-domain-controller"
DEVICE_CLASS = "compute-domain-default-channel.nvidia.com"
SETTLE_SECONDS = 2.0  # until the claim template is there


class ComputeDomains:
    """Watches ComputeDomains where that kind is served."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._loop = Loop[tuple[str, str]](clock, self._reconcile, reaction=SETTLE_SECONDS)
        store.watch(self._on_change, "ComputeDomain")

    def _on_change(self, change: Change) -> None:
        if change.type == "ADDED":
            self._loop.poke(change.entry.key)

    def _reconcile(self, key: tuple[str, str]) -> None:
        domain = self._store.find(COMPUTE_DOMAIN.api_version, COMPUTE_DOMAIN.kind, *key)
        if domain is None or domain.deleting:
            return
        name = _template_name(domain)
        kind = RESOURCE_CLAIM_TEMPLATE
        if name is None or self._store.find(kind.api_version, kind.kind, domain.namespace, name) is not None:
            return
        request = {"name": "channel", "exactly": {"deviceClassName": DEVICE_CLASS, "count": 1}}
        self._store.create(
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"namespace": domain.namespace, "name": name, "ownerReferences": [owned_by(domain)]},
                "spec": {"spec": {"devices": {"requests": [request]}}},
            },
            actor=ACTOR,
        )


def _template_name(domain: Entry) -> str | None:
    channel = (domain.obj.get("spec") or {}).get("channel") or {}
    name: str | None = (channel.get("resourceClaimTemplate") or {}).get("name")
    return name
