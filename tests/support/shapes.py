"""Clusters and frameworks that between them meet every row of the platform table, as `--nodes` would make them up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cli.simulator.inventory import make
from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, RunIdentity
from tests.support.runs import FRAMEWORKS


@dataclass(frozen=True, slots=True)
class Shape:
    """Nodes of one platform and architecture, and what a run says because of them."""

    nodes: str
    fields: Mapping[str, Any] = field(default_factory=dict)


SHAPES = {
    "aws-h100": Shape("aws/h100x2"),
    "aws-gb200": Shape("aws/gb200x2"),
    "aws-gb300": Shape("aws/gb300x2"),
    "gcp-h100": Shape("gcp/h100x2"),
    "gcp-gb200": Shape("gcp/gb200x2"),
    "gcp-rtxpro6000": Shape("gcp/rtxpro6000x2"),
    "gcp-rtxpro6000-of-four": Shape("gcp/rtxpro6000x2", {"gpusPerNode": 4}),
    "azure-h100": Shape("azure/h100x2"),
    "azure-gb200": Shape("azure/gb200x2"),
    "oci-gb300": Shape("oci/gb300x2"),
    "onprem-gb200": Shape("onprem/gb200x2"),
    "onprem-b200": Shape("onprem/b200x2"),
    "togetherai-h100": Shape("togetherai/h100x2"),
    "mistral-gb300": Shape("mistral/gb300x2"),
    "nscale-gb300": Shape("nscale/gb300x2"),
    "nscale-b200": Shape("nscale/b200x2"),
    "forge-h100": Shape("forge/h100x2"),
}

EVERYTHING: Mapping[str, Any] = {
    "config": {"inline": {"settings.yaml": "a: 1\n"}},
    "checkpoint": {"storageSize": "1Gi", "maxRestarts": 1},
    "env": [
        {"name": "MINE", "value": "1"},
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    "initContainers": [{"name": "first", "image": "registry.example/image:1", "command": ["true"]}],
    "imagePullSecrets": [{"name": "registry"}],
    "resources": {"limits": {"memory": "100Gi"}},
    "workloadMetadata": {"labels": {"team": "fleet"}},
    "bandwidthMeasurement": {"logProfileRef": "nccl-bandwidth", "testType": "all_reduce"},
    "thresholds": {"busBandwidthGBps": "value >= 300"},
}
"""Every field of a run that becomes part of a rendered object."""


def plan_on(shape: Shape, framework: str, identity: RunIdentity, **fields: Any) -> Plan:
    """Plan a run of groups of two nodes on a shape; it must be possible."""
    given = {"image": "registry.example/image:1", "framework": FRAMEWORKS[framework], "numNodes": 2}
    spec = WorkloadRunSpec.model_validate({**given, **shape.fields, **fields})
    plan = build(identity, spec, [msgspec.convert(node, Node) for node in make(shape.nodes)])
    assert isinstance(plan, Plan), plan
    return plan
