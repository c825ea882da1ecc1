"""A Job's own objects: made before its TrainJob, and in an order in which they can also go.

When a Job is deleted in the foreground the collector takes its children in any order. Each object here therefore names
the one that must outlive it as a second owner: the TrainJob its runtime, the runtime its ComputeDomain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sync_hooks.api.job import JobSpec
from sync_hooks.api.request import Child, Request
from sync_hooks.api.trainer import COMPUTE_DOMAIN, TRAINING_RUNTIME, JsonObject, kind_of


def missing_dependencies(request: Request, spec: JobSpec) -> list[JsonObject]:
    """Return the Job's own objects that are to be made now: the runtime once everything else is seen."""
    missing = [wanted for wanted in spec.dependencies or () if not _seen(request, wanted)]
    first = [wanted for wanted in missing if kind_of(wanted) != TRAINING_RUNTIME]
    return first or [_behind_domain(request, spec, runtime) for runtime in missing]


def _behind_domain(request: Request, spec: JobSpec, runtime: JsonObject) -> JsonObject:
    domains = (_seen(request, wanted) for wanted in spec.dependencies or () if kind_of(wanted) == COMPUTE_DOMAIN)
    for domain in domains:
        if domain is not None:
            return blocking(runtime, domain)
    return runtime


def _seen(request: Request, wanted: Mapping[str, Any]) -> Child | None:
    return request.children.get(f"{wanted['kind']}.{wanted['apiVersion']}", {}).get(wanted["metadata"]["name"])


def blocking(made: JsonObject, owner: Child) -> JsonObject:
    """Let an object block the deletion of another one in the foreground: it stays until the object is gone."""
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.metadata.uid,
        "blockOwnerDeletion": True,
    }
    metadata = made["metadata"]
    references = [*(metadata.get("ownerReferences") or ()), reference]
    return {**made, "metadata": {**metadata, "ownerReferences": references}}
