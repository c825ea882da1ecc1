"""The device API that a control plane without GPUs lacks: ComputeDomain, as narrow as what we write into it.

No driver answers to it: pods that claim its channel stay Pending, and the objects themselves are checked.
"""

from __future__ import annotations

from typing import Any

from sync_hooks.api.trainer import COMPUTE_DOMAIN

NAME = "computedomains.resource.nvidia.com"


def definition() -> dict[str, Any]:
    """Return the CRD, whose schema knows no field but those of a domain with one channel."""
    group, _, version = COMPUTE_DOMAIN[0].partition("/")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": COMPUTE_DOMAIN[1], "plural": "computedomains", "singular": "computedomain"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": _schema()}}],
        },
    }


def _schema() -> dict[str, Any]:
    template = _object({"name": {"type": "string", "minLength": 1, "maxLength": 253}})
    mode = {"type": "string", "enum": ["All", "Single"]}
    channel = _object({"allocationMode": mode, "resourceClaimTemplate": template})
    return {
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": _object({"numNodes": {"type": "integer", "minimum": 0}, "channel": channel})},
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": sorted(properties), "properties": properties}
