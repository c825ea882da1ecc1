"""Decoding a Workflow's sync request, as Metacontroller sends it, against general decoders of the same bytes.

The product's decoder skips what no hook looks at; json and orjson build everything, pydantic checks typed models of
the same fields. The request is as large as a real one: children carry managed fields and the last applied object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import orjson
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from sync_hooks.api.request import CONFIG_MAP, JOB, TRAINING_RUNTIME, decode

from .memory import copy_seconds
from .rounds import alternate, cpu_of
from .row import Row, compared, ratio_at_most

SIZES = (1, 100, 1000, 2500)
REPEATED_JOBS = 2500
"""A round decodes so many Jobs in all, whatever the size of one request."""

Decoder = Callable[[bytes], Any]


class _Model(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class _Owner(_Model):
    uid: str = ""
    controller: bool = False


class _Metadata(_Model):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[_Owner] = []


class _Condition(_Model):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class _Status(_Model):
    conditions: list[_Condition] = []
    workload_phase: str = ""
    workload_start_time: str | None = None
    figures: dict[str, float] = {}
    settled: bool = False
    drained: bool = False


class _Child(_Model):
    api_version: str = ""
    kind: str = ""
    metadata: _Metadata = _Metadata()
    status: _Status = _Status()


class _Request(_Model):
    parent: dict[str, Any]
    children: dict[str, dict[str, _Child]]
    finalizing: bool = False


REFERENCES: Mapping[str, Decoder] = {
    "json": json.loads,
    "pydantic": _Request.model_validate_json,
    "orjson": orjson.loads,
}


def rows() -> list[Row]:
    """Measure every size against every decoder, and the largest against copying its bytes."""
    bodies = {count: request_of(count) for count in SIZES}
    found = [row for count, body in bodies.items() for row in _size_rows(count, body)]
    return [*found, _distance(bodies[SIZES[-1]])]


def _size_rows(count: int, body: bytes) -> list[Row]:
    times = max(1, REPEATED_JOBS // count) if count > 1 else 500
    parties = {"product": cpu_of(lambda: decode(body), times)}
    for name, decoder in REFERENCES.items():
        parties[name] = cpu_of(lambda decoder=decoder: decoder(body), times)  # type: ignore[misc]
    measured = alternate(parties)
    what = f"{count} Job{'s' if count > 1 else ''}, {len(body) / 1e3:.0f} kB, against "
    value = 1e3 * measured.median("product")
    return [
        compared(
            what + name,
            value,
            "ms",
            name,
            1e3 * measured.median(name),
            measured.ratio("product", name),
            ratio_at_most(1) if name in ("json", "pydantic") else None,
        )
        for name in parties
        if name != "product"
    ]


def _distance(body: bytes) -> Row:
    """Compare with the least that reading the bytes can cost: copying them once."""
    measured = alternate({"product": cpu_of(lambda: decode(body)), "copy": copy_seconds(len(body))})
    value, other = 1e3 * measured.median("product"), 1e3 * measured.median("copy")
    name = f"{SIZES[-1]} Jobs, against copying the bytes in memory"
    return compared(name, value, "ms", "copy", other, measured.ratio("product", "copy"))


def request_of(count: int) -> bytes:
    """Write the sync request of a Workflow with so many finished Jobs."""
    parent = {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run", "namespace": "default", "uid": "uid-run", "generation": 1},
        "spec": {"image": "registry.example/image:1", "numNodes": 2, "framework": {"exec": {"command": ["true"]}}},
        "status": {"phase": "Running"},
    }
    jobs = {f"default/run-g{number}-i1": _job(number) for number in range(count)}
    children: dict[str, Any] = {CONFIG_MAP: {}, JOB: jobs, TRAINING_RUNTIME: {}}
    return msgspec.json.encode({"parent": parent, "children": children, "finalizing": False})


def _job(number: int) -> dict[str, Any]:
    name = f"run-g{number}-i1"
    spec = {"workload": {"trainJob": {"runtimeRef": {"name": "run-runtime"}, "trainer": {"numNodes": 2}}}}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "resourceVersion": str(100_000 + number),
        "generation": 1,
        "creationTimestamp": "2026-01-01T12:00:00Z",
        "labels": {"cre.nvidia.com/group": str(number), "cre.nvidia.com/iteration": "1", "controller-uid": "uid-run"},
        "annotations": {"metacontroller.k8s.io/last-applied-configuration": json.dumps({"name": name, "spec": spec})},
        "ownerReferences": [{"apiVersion": "v1alpha1", "kind": "Workflow", "uid": "uid-run", "controller": True}],
        "managedFields": [
            {"manager": "metacontroller", "fieldsV1": {"f:spec": {f"f:field{i}": {} for i in range(12)}}}
        ],
    }
    return {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
        "status": _status(),
    }


def _status() -> dict[str, Any]:
    when = "2026-01-01T12:10:00Z"
    condition = {"type": "Succeeded", "status": "True", "reason": "Finished", "message": "", "lastTransitionTime": when}
    return {
        "conditions": [condition],
        "workloadPhase": "Succeeded",
        "workloadStartTime": "2026-01-01T12:01:00Z",
        "workloadEndTime": when,
        "figures": {"busBandwidthGBps": 479.88},
        "settled": True,
        "drained": True,
    }
