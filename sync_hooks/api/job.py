"""The Job: one group's workload in one iteration, with its attempts, measurements and verdict."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sync_hooks.api.limits import MOST_RESTARTS
from sync_hooks.api.model import (
    ApiModel,
    Bool,
    Condition,
    CoreObject,
    Duration,
    Float,
    Int32,
    ObjectReference,
    Timestamp,
)
from sync_hooks.api.results import FailedNode, Waiting
from sync_hooks.api.workloadrun import (
    BandwidthMeasurementTemplate,
    GoodputMeasurementTemplate,
    Thresholds,
    WorkloadMetadata,
)


class Workload(ApiModel):
    """Exactly one workload."""

    train_job: CoreObject
    """Spec of the Kubeflow TrainJob."""


class NodeHealthExpression(ApiModel):
    """A condition that marks a node as failed."""

    expression: str = Field(min_length=1, max_length=2048)
    """CEL over `node`; true means the node has failed."""


class NodeHealthMonitor(ApiModel):
    """Watches the nodes on which the workload runs."""

    cel: NodeHealthExpression
    """The condition."""


class JobCheckpoint(ApiModel):
    """Restarts from checkpoints."""

    pvc_name: str = Field(min_length=1)
    """PersistentVolumeClaim with the checkpoints."""
    max_restarts: Annotated[Int32, Field(ge=0, le=MOST_RESTARTS)] | None = None
    """How often the workload is restarted (default 0)."""


class JobSpec(ApiModel):
    """One group's workload and what is expected of it. Immutable after creation."""

    workload: Workload
    """What runs."""
    workload_metadata: WorkloadMetadata | None = None
    """Labels for the TrainJob."""
    timeout: Duration | None = None
    """How long the workload may run, from the moment it first runs; each restart from a checkpoint has it anew."""
    node_health_monitor: NodeHealthMonitor | None = None
    """Watches the nodes."""
    checkpoint: JobCheckpoint | None = None
    """Restarts from checkpoints."""
    stall_multiplier: Annotated[Int32, Field(ge=1)] | None = None
    """Training has stalled after this many usual step times without a step; unset: no stall detection."""
    startup_stall_timeout_seconds: Annotated[Int32, Field(ge=1)] | None = None
    """Training has stalled when no step came this long after its start (default 1200); only with stallMultiplier."""
    goodput_measurement: GoodputMeasurementTemplate | None = None
    """Measures training goodput."""
    bandwidth_measurement: BandwidthMeasurementTemplate | None = None
    """Measures NCCL bandwidth."""
    ranks: Annotated[Int32, Field(ge=1)] | None = None
    """GPU ranks of the group, to check measured bandwidths against the collective."""
    thresholds: Thresholds | None = None
    """Requirements on measured values: CEL over the number `value`, by key."""
    measurement_timeout: Duration | None = None
    """How long to wait for measurements after the workload has ended (default 5m)."""
    fabric_expected: Bool | None = None
    """The platform has a fabric: falling back to sockets fails validation, and where the log does not tell the network
    nothing is called measured. False: the run says that there is none; absent: nobody knows, and what went through
    sockets is not called measured."""
    nodes_apart: Bool | None = None
    """Nothing joins the programs of the nodes: what the log of one of them tells is not measured on the others."""
    dependencies: list[CoreObject] | None = None
    """Objects of this group alone: devices, storage, its own copy of the runtime."""


class FailureLog(ApiModel):
    """The end of the failing container's log."""

    pod_name: str
    """Pod."""
    node_name: str | None = None
    """Node it ran on."""
    container: str | None = None
    """Container."""
    exit_code: Int32 | None = None
    """Exit code."""
    reason: str
    """Why it ended, or why there is no log."""
    tail: str
    """Last lines of the log."""


class FailedAttempt(ApiModel):
    """An attempt that failed and was followed by another, from a checkpoint."""

    attempt: Int32
    """Number of the attempt, from 0."""
    message: str
    """How it failed, and who is blamed for it; cut."""
    attribution: str = Field(pattern="^(Node|Group|None)$")
    """Who is blamed, as for the Job: Node, Group or None."""
    failed_nodes: list[FailedNode] | None = None
    """Nodes that are blamed by name, the first ones."""


class Figures(ApiModel):
    """Key figures of the group's measurements."""

    bus_bandwidth_g_bps: Float | None = Field(default=None, alias="busBandwidthGBps")
    """Peak bus bandwidth in GB/s (10^9 bytes)."""
    alg_bandwidth_g_bps: Float | None = Field(default=None, alias="algBandwidthGBps")
    """Peak algorithm bandwidth in GB/s (10^9 bytes)."""
    goodput_ratio: Float | None = None
    """Share of the training time that made progress, 0 to 1."""
    avg_tflops_per_gpu: Float | None = Field(default=None, alias="avgTFLOPsPerGPU")
    """TFLOP/s per GPU as the framework prints it."""
    avg_step_time_sec: Float | None = None
    """Seconds per training step."""


class JobStatus(ApiModel):
    """Where the group stands."""

    conditions: list[Condition] | None = Field(default=None, json_schema_extra={"x-kubernetes-list-type": "map"})
    """InProgress, Succeeded and Failed exclude each other; HardwareFailed and ValidationFailed are additive."""
    workload_ref: ObjectReference | None = None
    """The TrainJob of the current attempt, once it has been seen."""
    jobset_uid: str | None = Field(default=None, alias="jobSetUID")
    """UID of the TrainJob's JobSet, once pods of it have been seen: pods belong to the workload by it."""
    attempt: Int32 | None = None
    """Number of the current attempt, from 0."""
    failed_attempts: list[FailedAttempt] | None = None
    """Attempts that failed and were followed by another, from a checkpoint; the latest ones. They change no verdict:
    what is remarked of a group that passed in the end names their nodes."""
    workload_phase: str | None = None
    """Pending, Running, Succeeded or Failed."""
    workload_start_time: Timestamp | None = None
    """When the workload of this attempt was first seen running."""
    workload_end_time: Timestamp | None = None
    """When the workload of this attempt ended."""
    nodes: list[str] | None = None
    """Node of each worker of this attempt, in order of the workers; absent for more than a thousand."""
    figures: Figures | None = None
    """Key figures of the measurements."""
    unmeasured: list[str] | None = None
    """Requested measurements that brought no data or only a part of it, each with the reason."""
    remarks: list[str] | None = None
    """What is worth knowing of a group that passed, and changes nothing."""
    failed_nodes: list[FailedNode] | None = None
    """Nodes that are blamed."""
    attribution: str | None = Field(default=None, pattern="^(Node|Group|None)$")
    """Who is blamed for a failure: Node (those in failedNodes, nothing is said of the others), Group (all), or None."""
    failure_log: FailureLog | None = None
    """The end of the failing container's log, of the last attempt that failed."""
    waiting: Waiting | None = None
    """What the Job waits for."""
    settled: bool | None = None
    """Verdict and measurements are final."""
    drained: bool | None = None
    """No pod of the group is left running: its nodes are free."""
    observed_generation: Int32 | None = None
    """Generation of the spec that this status is about."""
