"""Builders for hook tests: requests, children and live objects that are valid by default, changed by keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sync_hooks.api.observed import LiveObject, Pod
from sync_hooks.api.request import (
    BANDWIDTH_MEASUREMENT,
    CONFIG_MAP,
    GOODPUT_MEASUREMENT,
    JOB,
    TRAIN_JOB,
    TRAINING_RUNTIME,
    WORKFLOW,
    JobChild,
    Request,
    TrainJobChild,
    decode,
)
from sync_hooks.api.sync import Answer, Reads

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
STAMP = "2026-01-01T12:00:00Z"
NAMESPACE = "default"
KINDS = {
    "WorkloadRun": (WORKFLOW,),
    "Workflow": (CONFIG_MAP, JOB, TRAINING_RUNTIME),
    "Job": (TRAIN_JOB, BANDWIDTH_MEASUREMENT, GOODPUT_MEASUREMENT),
    "BandwidthMeasurement": (),
    "GoodputMeasurement": (),
}


def manifest(kind: str, name: str, *, uid: str = "", version: str = "7", **more: Any) -> dict[str, Any]:
    """Write an object of our own as the API holds it; keywords replace or add top-level keys."""
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": uid or f"uid-{name}",
        "resourceVersion": version,
        "generation": 1,
        "creationTimestamp": "2026-01-01T11:00:00Z",
        **more.pop("metadata", {}),
    }
    api_version = more.pop("apiVersion", "cre.nvidia.com/v1alpha1")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}, "status": {}, **more}


def owned(child: Mapping[str, Any], parent: Mapping[str, Any]) -> dict[str, Any]:
    """Give a child its controlling owner, as Metacontroller does."""
    owner = {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {"uid": f"uid-{child['metadata']['name']}", **child["metadata"]}
    others = [item for item in metadata.get("ownerReferences", []) if item["uid"] != owner["uid"]]
    return {**child, "metadata": {**metadata, "ownerReferences": [owner, *others]}}


def request(
    parent: Mapping[str, Any], children: Iterable[Mapping[str, Any]] = (), *, finalizing: bool = False
) -> Request:
    """Make the request that Metacontroller would send for a parent with these children."""
    by_kind: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS[parent["kind"]]}
    for child in children:
        key = f"{child['kind']}.{child['apiVersion']}"
        by_kind.setdefault(key, {})[f"{NAMESPACE}/{child['metadata']['name']}"] = owned(child, parent)
    return decode(msgspec.json.encode({"parent": parent, "children": by_kind, "finalizing": finalizing}))


def live(object_: Mapping[str, Any]) -> LiveObject:
    """Read an object as the edge would."""
    return msgspec.convert(object_, LiveObject)


def pod(name: str, *, node: str = "", jobset_uid: str = "uid-jobset", role: str = "node", **status: Any) -> Pod:
    """Make a pod of a JobSet."""
    labels = {"jobset.sigs.k8s.io/jobset-uid": jobset_uid, "jobset.sigs.k8s.io/replicatedjob-name": role}
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {"nodeName": node, "containers": [{"name": "node"}]},
            "status": {"phase": "Running", "startTime": STAMP, **status},
        },
        Pod,
    )


def failed_pod(
    name: str,
    node: str,
    exit_code: int = 1,
    at: str = STAMP,
    role: str = "node",
    why: str = "Error",
    says: str = "",
    **status: Any,
) -> Pod:
    """Make a pod whose container has failed; ``says`` is the message of its end."""
    ended = {"terminated": {"exitCode": exit_code, "reason": why, "message": says, "finishedAt": at}}
    statuses = [{"name": "node", "state": ended}]
    return pod(name, node=node, role=role, phase="Failed", containerStatuses=statuses, **status)


def job_child(name: str, **status: Any) -> JobChild:
    """Make a Job as its Workflow sees it."""
    return msgspec.convert(
        {"kind": "Job", "metadata": {"name": name, "uid": f"uid-{name}"}, "status": status}, JobChild
    )


def train_job_child(name: str, conditions: Iterable[Mapping[str, Any]] = (), **spec: Any) -> TrainJobChild:
    """Make a TrainJob as its Job sees it."""
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": STAMP}
    return msgspec.convert(
        {"kind": "TrainJob", "metadata": metadata, "spec": spec, "status": {"conditions": list(conditions)}},
        TrainJobChild,
    )


def condition(
    type_: str, status: str = "True", reason: str = "Because", message: str = "", at: str = STAMP
) -> dict[str, Any]:
    """Make a condition as the API holds it."""
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def reads(answer: Answer) -> tuple[Any, ...]:
    """Return what an answer wants to read; fails where it is a result."""
    assert isinstance(answer, Reads), answer
    return answer.reads
