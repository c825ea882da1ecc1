"""The table of rules, as objects: the smallest valid object of each kind, and what the table lays over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("rules.yaml")

RUN = {"image": "train:1", "framework": {"torch": {"script": "train.py"}}, "numNodes": 1}
BASES: Mapping[str, Mapping[str, Any]] = {
    "WorkloadRun": RUN,
    "Workflow": RUN,
    "Job": {"workload": {"trainJob": {"runtimeRef": {"name": "run-runtime", "kind": "TrainingRuntime"}}}},
    "BandwidthMeasurement": {
        "jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": "run-g0-i1"},
        "logProfileRef": "nccl-bandwidth",
    },
    "GoodputMeasurement": {
        "jobRef": {"apiGroup": "cre.nvidia.com", "kind": "Job", "name": "run-g0-i1"},
        "logProfileRef": "megatron-training",
    },
    "LogProfile": {
        "timestamp": {"layout": "2006-01-02 15:04:05"},
        "patterns": {"applicationStart": {"regex": "start"}},
    },
}


@dataclass(frozen=True)
class Case:
    """One row: a rule, an object that it lets through, one that it refuses, and what it says of that one."""

    rule: str
    kind: str
    good: Mapping[str, Any]
    bad: Mapping[str, Any]
    errors: Mapping[str, str]
    schema: bool
    offline: bool

    def __str__(self) -> str:
        return self.rule.replace(" ", "-")


MEANT: Mapping[str, Any] = {
    "{null}": None,
    "{240000 characters}": "x" * 240_000,
    "{10001 variables}": [{}] * 10_001,
}
"""What stands in the table for what YAML would not say, or nobody wants to read."""


def manifest(kind: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay changes over the smallest valid object of a kind."""
    fields = {name: _meant(value) for name, value in {**BASES[kind], **changes}.items() if value is not None}
    metadata = fields.pop("metadata", {"name": "run"})
    return {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": kind, "metadata": metadata, "spec": fields}


def _meant(value: Any) -> Any:
    """Put in what is meant."""
    if isinstance(value, dict):
        return {key: _meant(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_meant(part) for part in value]
    return MEANT.get(value, value) if isinstance(value, str) else value


def cases() -> list[Case]:
    """Read the table."""
    table = yaml.safe_load(TABLE.read_text("utf-8"))
    return [
        Case(
            rule=row["rule"],
            kind=kind,
            good=manifest(kind, row["good"]),
            bad=manifest(kind, row["bad"]),
            errors=row["errors"],
            schema=row.get("schema", False),
            offline=row.get("offline", False),
        )
        for kind, rows in table.items()
        for row in rows
    ]
