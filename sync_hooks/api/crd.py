"""The CustomResourceDefinitions of our kinds, generated: names, scope, columns and schema. Reads and writes no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementSpec, BandwidthMeasurementStatus
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec, GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.limits import IMMUTABLE, LONGEST_JOB_NAME, LONGEST_RUN_NAME, RUN_NAME_PATTERN
from sync_hooks.api.logprofile import LogProfileSpec
from sync_hooks.api.model import GROUP, VERSION, ApiModel
from sync_hooks.api.schema import Schema, structural_schema
from sync_hooks.api.workflow import WorkflowSpec, WorkflowStatus
from sync_hooks.api.workloadrun import WorkloadRunSpec, WorkloadRunStatus

KEEP = {
    "argocd.argoproj.io/sync-options": "Delete=false,Prune=false",
    "helm.sh/resource-policy": "keep",
}
"""A CRD that goes takes every object of its kind with it: removing the chart must not."""

MOST_BYTES = 200_000  # `kubectl apply` stores the whole object in an annotation, and annotations end at 256 kB


@dataclass(frozen=True, slots=True)
class Column:
    """One column of ``kubectl get``. A ``wide`` one is shown with ``-o wide`` only."""

    name: str
    type: str
    path: str
    description: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One of our kinds, as the API server has to know it."""

    kind: str
    plural: str
    short: str
    description: str
    spec: type[ApiModel]
    status: type[ApiModel] | None
    columns: tuple[Column, ...]
    immutable: bool = False
    cluster_scoped: bool = False
    longest_name: int | None = None


STATE = Column("State", "string", '.status.conditions[?(@.status=="True")].type', "Where it stands.")
PLATFORM = Column("Platform", "string", ".status.detectedPlatform", "Platform found on the nodes.")
GPU = Column("GPU", "string", ".status.detectedGPUArchitecture", "GPU architecture found on the nodes.")
GROUPS = Column("Groups", "integer", ".status.progress.groups", "Groups of an iteration.")
RUNNING = Column("Running", "integer", ".status.progress.running", "Groups that run.", wide=True)
SUCCEEDED = Column("Succeeded", "integer", ".status.progress.succeeded", "Groups that ended well.")
FAILED = Column("Failed", "integer", ".status.progress.failed", "Groups that ended badly.")
ITERATION = Column("Iteration", "integer", ".status.progress.iteration", "Current iteration.", wide=True)
TARGETED = Column("Nodes", "integer", ".status.coverage.targeted", "Nodes that the target selects.", wide=True)
TESTED = Column("Tested", "integer", ".status.coverage.tested", "Nodes with a verdict of their own.", wide=True)
WAITING = Column("Waiting", "string", ".status.waiting.reason", "What is waited for.", wide=True)
AGE = Column("Age", "date", ".metadata.creationTimestamp", "Time since it was created.")

KINDS: tuple[Kind, ...] = (
    Kind(
        kind="WorkloadRun",
        plural="workloadruns",
        short="wr",
        description="Tests which GPU nodes are fit for work: runs one workload on groups of nodes and gives a verdict.",
        spec=WorkloadRunSpec,
        status=WorkloadRunStatus,
        columns=(
            Column("Verdict", "string", ".status.verdict", "Passed, Failed or Incomplete; empty while under way."),
            *(STATE, PLATFORM, GPU, GROUPS, SUCCEEDED, FAILED, RUNNING, ITERATION, TARGETED, TESTED, WAITING, AGE),
        ),
        immutable=True,
        longest_name=LONGEST_RUN_NAME,
    ),
    Kind(
        kind="Workflow",
        plural="workflows",
        short="wf",
        description="A WorkloadRun under way: planned once and followed to its end.",
        spec=WorkflowSpec,
        status=WorkflowStatus,
        columns=(STATE, PLATFORM, GPU, GROUPS, SUCCEEDED, FAILED, RUNNING, ITERATION, TARGETED, TESTED, WAITING, AGE),
        immutable=True,
        longest_name=LONGEST_RUN_NAME,
    ),
    Kind(
        kind="Job",
        plural="jobs",
        short="crejob",
        description="One group's workload in one iteration, with its attempts, measurements and verdict.",
        spec=JobSpec,
        status=JobStatus,
        columns=(
            *(STATE, Column("Phase", "string", ".status.workloadPhase", "Phase of the current attempt.")),
            Column("Attempt", "integer", ".status.attempt", "Number of the current attempt, from 0."),
            Column("BusBW", "number", ".status.figures.busBandwidthGBps", "Peak bus bandwidth in GB/s."),
            Column("Goodput", "number", ".status.figures.goodputRatio", "Share of the time that made progress."),
            Column("Nodes", "string", r".metadata.annotations.cre\.nvidia\.com/group-nodes", "Its nodes.", wide=True),
            Column("Drained", "boolean", ".status.drained", "Its nodes are free again.", wide=True),
            *(WAITING, AGE),
        ),
        immutable=True,
        longest_name=LONGEST_JOB_NAME,
    ),
    Kind(
        kind="BandwidthMeasurement",
        plural="bandwidthmeasurements",
        short="bwm",
        description="One Job's bandwidth table, read from the log of the pod that prints it.",
        spec=BandwidthMeasurementSpec,
        status=BandwidthMeasurementStatus,
        columns=(
            Column("Job", "string", ".spec.jobRef.name", "The Job that is measured."),
            Column("Test", "string", ".spec.testType", "Collective under test."),
            Column("Complete", "string", COMPLETE_REASON, "How the measurement ended; empty while it goes on."),
            Column("Peak", "number", ".status.summary.peakBusBandwidthGBps", "Largest bus bandwidth in GB/s."),
            Column("Largest", "number", ".status.summary.atLargestBusBandwidthGBps", "At the largest size."),
            Column("Wrong", "integer", ".status.wrongCount", "Wrong values that the test found."),
            Column("Rows", "integer", ".status.rowsSeen", "Rows that count.", wide=True),
            Column("Transport", "string", ".status.transport", "Networks that NCCL used.", wide=True),
            *(Column("Profile", "string", ".spec.logProfileRef", "LogProfile.", wide=True), AGE),
        ),
    ),
    Kind(
        kind="GoodputMeasurement",
        plural="goodputmeasurements",
        short="gpm",
        description="Which share of one Job's training time made progress that was kept, from its logs.",
        spec=GoodputMeasurementSpec,
        status=GoodputMeasurementStatus,
        columns=(
            Column("Job", "string", ".spec.jobRef.name", "The Job that is measured."),
            Column("Complete", "string", COMPLETE_REASON, "How the measurement ended; empty while it goes on."),
            *GOODPUT_COLUMNS,
            *(Column("Profile", "string", ".spec.logProfileRef", "LogProfile.", wide=True), AGE),
        ),
    ),
    Kind(
        kind="LogProfile",
        plural="logprofiles",
        short="lp",
        description="How one kind of workload writes its log.",
        spec=LogProfileSpec,
        status=None,
        columns=(
            Column("Strategy", "string", ".spec.workerStrategy.type", "Which pods' logs are read."),
            Column("Replicated-Job", "string", ".spec.workerStrategy.replicatedJobName", "Whose pods are read."),
            Column("Interval", "integer", ".spec.logInterval", "Steps between two training-step lines."),
            Column("Warmup", "integer", ".spec.warmupSteps", "Steps that averages leave out."),
            AGE,
        ),
        cluster_scoped=True,
    ),
)


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
    if kind.longest_name is None:
        return {"type": "object"}
    name = {"type": "string", "maxLength": kind.longest_name, "pattern": RUN_NAME_PATTERN}
    return {"type": "object", "properties": {"name": name}}


def _column(column: Column) -> dict[str, Any]:
    written: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return written | ({"priority": 1} if column.wide else {})
