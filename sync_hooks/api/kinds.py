"""Our kinds as the API server and kubectl know them: names, scope, models, columns. Knows nothing of schemas."""

from __future__ import annotations

from dataclasses import dataclass

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementSpec, BandwidthMeasurementStatus
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec, GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.limits import JOB_NAMES, OBJECT_NAMES, RUN_NAMES, NameRule
from sync_hooks.api.logprofile import LogProfileSpec
from sync_hooks.api.model import ApiModel
from sync_hooks.api.workflow import WorkflowSpec, WorkflowStatus
from sync_hooks.api.workloadrun import WorkloadRunSpec, WorkloadRunStatus


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
    names: NameRule = OBJECT_NAMES


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
PROFILE = Column("Profile", "string", ".spec.logProfileRef", "LogProfile that understands the log.", wide=True)
MEASURED = Column("Job", "string", ".spec.jobRef.name", "The Job that is measured.")
ENDED = Column(
    "Ended", "string", '.status.conditions[?(@.type=="Complete")].reason', "How the measuring ended; empty until then."
)
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
        names=RUN_NAMES,
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
        names=RUN_NAMES,
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
        names=JOB_NAMES,
    ),
    Kind(
        kind="BandwidthMeasurement",
        plural="bandwidthmeasurements",
        short="bwm",
        description="One Job's bandwidth table, read from the log of the pod that prints it.",
        spec=BandwidthMeasurementSpec,
        status=BandwidthMeasurementStatus,
        columns=(
            *(MEASURED, Column("Test", "string", ".spec.testType", "Collective under test."), ENDED),
            Column("Peak", "number", ".status.summary.peakBusBandwidthGBps", "Largest bus bandwidth in GB/s."),
            Column("Largest", "number", ".status.summary.atLargestBusBandwidthGBps", "At the largest size."),
            Column("Wrong", "integer", ".status.wrongCount", "Wrong values that the test found."),
            Column("Rows", "integer", ".status.rowsSeen", "Rows that count.", wide=True),
            Column("Transport", "string", ".status.transport", "Networks that NCCL used.", wide=True),
            *(PROFILE, AGE),
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
            *(MEASURED, ENDED),
            Column("Goodput", "number", ".status.result", "Share of the time that made progress."),
            Column("Step", "integer", ".status.currentStep", "Last training step."),
            Column("Step-Time", "number", ".status.avgStepTimeSec", "Seconds per training step."),
            Column("TFLOPs", "number", ".status.avgTFLOPsPerGPU", "TFLOP/s per GPU."),
            Column("Interruptions", "integer", ".status.interruptionCount", "Attempts that were interrupted."),
            Column("Lost", "number", ".status.lostWorkTimeSec", "Seconds of lost work.", wide=True),
            *(PROFILE, AGE),
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
