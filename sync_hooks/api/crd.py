"""The CustomResourceDefinitions of our kinds, generated: names, columns and schema. Reads and writes no file."""

from __future__ import annotations

from typing import Any

from sync_hooks.api.kinds import Column, Kind
from sync_hooks.api.limits import IMMUTABLE, OBJECT_NAMES
from sync_hooks.api.model import GROUP, VERSION
from sync_hooks.api.schema import Schema, structural_schema

KEEP = {
    "argocd.argoproj.io/sync-options": "Delete=false,Prune=false",
    "helm.sh/resource-policy": "keep",
}
"""A CRD that goes takes every object of its kind with it: removing the chart must not."""

MOST_BYTES = 200_000  # `kubectl apply` stores the whole object in an annotation, and annotations end at 256 kB


def crd(kind: Kind) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind. Raises ValueError where a model has no structural schema."""
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": object_schema(kind)},
    }
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}", "annotations": dict(KEEP)},
        "spec": {
            "group": GROUP,
            "scope": "Cluster" if kind.cluster_scoped else "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short],
                "categories": ["cre"],
            },
            "versions": [version],
        },
    }


def object_schema(kind: Kind) -> Schema:
    """Return the schema of a whole object of a kind."""
    spec = structural_schema(kind.spec)
    if kind.immutable:
        spec["x-kubernetes-validations"] = [*spec.get("x-kubernetes-validations", []), dict(IMMUTABLE)]
    properties: Schema = {
        "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
        "kind": {"type": "string", "description": kind.kind},
        "metadata": _metadata(kind),
        "spec": spec,
    }
    if kind.status is not None:
        properties["status"] = structural_schema(kind.status)
    return {"type": "object", "description": kind.description, "required": ["spec"], "properties": properties}


def _metadata(kind: Kind) -> Schema:
    if kind.names is OBJECT_NAMES:  # the API server checks that itself
        return {"type": "object"}
    name = {"type": "string", "maxLength": kind.names.longest, "pattern": kind.names.pattern}
    return {"type": "object", "properties": {"name": name}}


def _column(column: Column) -> dict[str, Any]:
    written: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return written | ({"priority": 1} if column.wide else {})
