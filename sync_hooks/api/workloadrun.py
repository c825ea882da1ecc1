"""The WorkloadRun: what a person writes, and the verdict they read."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from sync_hooks.api.framework import Framework
from sync_hooks.api.limits import (
    KNOWN_THRESHOLDS,
    LABEL_VALUE_PATTERN,
    MOST_ITERATIONS,
    MOST_LABELS,
    MOST_NODES_PER_GROUP,
    MOST_RESTARTS,
    MOST_THRESHOLDS,
    NOT_KUBERNETES_RESOURCE,
    NOT_OUR_LABEL,
    NOT_OUR_LABELS,
    QUANTITY_PATTERN,
    QUEUE_LABEL_KEY_PATTERN,
    QUEUE_PATTERN,
    RESOURCE_NAME_PATTERN,
    with_rules,
)
from sync_hooks.api.model import (
    ApiModel,
    Bool,
    Condition,
    CoreObject,
    Duration,
    Int32,
    LocalObjectReference,
    Timestamp,
    TypedLocalObjectReference,
)
from sync_hooks.api.override import Override
from sync_hooks.api.results import AppliedOverride, Coverage, ExcludedNode, Progress, Results, Waiting
from sync_hooks.api.target import Target

Expression = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": 1024})]
LabelValue = Annotated[str, Field(max_length=63, pattern=LABEL_VALUE_PATTERN)]
Labels = Annotated[dict[str, LabelValue], Field(max_length=MOST_LABELS, json_schema_extra=with_rules(NOT_OUR_LABELS))]
Thresholds = Annotated[
    dict[str, Expression], Field(max_length=MOST_THRESHOLDS, json_schema_extra=with_rules(KNOWN_THRESHOLDS))
]


class Config(ApiModel):
    """Configuration files for the workload, mounted at /config. Exactly one source is given."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    inline: Annotated[dict[str, str], Field(min_length=1)] | None = None
    """File contents by file name."""
    config_map_ref: LocalObjectReference | None = None
    """An existing ConfigMap whose keys become the files."""


class Checkpoint(ApiModel):
    """Storage for checkpoints, one volume a group, mounted at /checkpoint."""

    storage_size: str = Field(pattern=QUANTITY_PATTERN)
    """Size of the volume, for example 500Gi."""
    storage_class_name: str | None = Field(default=None, max_length=253)
    """StorageClass to use; absent means the cluster's default."""
    max_restarts: Annotated[Int32, Field(ge=0, le=MOST_RESTARTS)] | None = None
    """How often a failed group is restarted from its last checkpoint (default 0). Needs a goodputMeasurement."""


class Orchestration(ApiModel):
    """How the groups are formed and launched."""

    test_scale: str | None = Field(default=None, pattern="^(intra-node|intra-rack|full-scale)$")
    """intra-node tests each node alone, intra-rack one group a rack, full-scale (default) groups of numNodes."""
    repeat_count: Annotated[Int32, Field(ge=1, le=MOST_ITERATIONS)] | None = None
    """How often every group runs (default 1)."""
    max_concurrent: Annotated[Int32, Field(ge=0)] | None = None
    """How many groups run at once (default 0: all)."""
    timeout_per_job: Duration | None = None
    """How long one group may run, from the moment its workload first runs (default 24h). Queueing does not count; each
    restart from a checkpoint has the time anew."""
    placement: str | None = Field(default=None, pattern="^(Pinned|Unpinned)?$")
    """Pinned (default) puts every group on its own nodes; Unpinned lets the scheduler choose."""


class GangScheduler(ApiModel):
    """Opts the workload's pods into a gang-aware scheduler such as KAI Scheduler."""

    scheduler_name: str = Field(min_length=1, max_length=253)
    """Scheduler of every workload pod, for example kai-scheduler."""
    queue: str | None = Field(default=None, max_length=63, pattern=QUEUE_PATTERN)
    """Queue to submit to, written as a label on the pods; default-queue when unset or empty."""
    queue_label_key: str | None = Field(
        default=None,
        max_length=317,
        pattern=QUEUE_LABEL_KEY_PATTERN,
        json_schema_extra=with_rules(NOT_OUR_LABEL),
    )
    """Key of that label (default kai.scheduler/queue)."""


class GoodputMeasurementTemplate(ApiModel):
    """Measures how much of the training time made progress."""

    log_profile_ref: str = Field(min_length=1, max_length=253)
    """Name of the LogProfile that understands the training log."""
    sample_interval: Duration | None = None
    """Time between two log reads (default 60s); less in the first minutes, so that short runs end soon."""


class BandwidthMeasurementTemplate(ApiModel):
    """Measures NCCL bandwidth from the test's printed table."""

    log_profile_ref: str = Field(min_length=1, max_length=253)
    """Name of the LogProfile that understands the test's table."""
    sample_interval: Duration | None = None
    """Time between two log reads (default 60s); less in the first minutes, so that short runs end soon."""
    test_type: str | None = None
    """Collective under test, for example all_reduce: only its tables count."""


class WorkloadMetadata(ApiModel):
    """Metadata for the TrainJobs."""

    labels: Labels | None = None
    """Labels put on every TrainJob."""


class WorkloadRunSpec(ApiModel):
    """What to run on which nodes, and what to expect of it. Immutable after creation."""

    target: Target | None = None
    """Nodes to test; absent means every node labelled nvidia.com/gpu.present=true."""
    image: str = Field(min_length=1)
    """Container image of the workload."""
    framework: Framework
    """How the workload is started: exactly one of torch, mpi and exec."""
    num_nodes: Annotated[Int32, Field(ge=1, le=MOST_NODES_PER_GROUP)]
    """Nodes per group, not a total: all eligible nodes are partitioned into groups of this size."""
    config: Config | None = None
    """Configuration files mounted at /config."""
    gpus_per_node: Annotated[Int32, Field(ge=1)] | None = None
    """GPUs used on each node; absent means what resources name, else what the nodes offer."""
    mlnx_per_node: Annotated[Int32, Field(ge=0)] | None = None
    """Fabric interfaces requested on each node; absent means the platform's table, 0 requests none."""
    nic_resource_name: str | None = Field(
        default=None,
        max_length=253,
        pattern=RESOURCE_NAME_PATTERN,
        json_schema_extra=with_rules(NOT_KUBERNETES_RESOURCE),
    )
    """Extended resource of the fabric interfaces (on-premises); absent means detection."""
    image_pull_secrets: list[LocalObjectReference] | None = None
    """Secrets to pull the image with."""
    env: list[CoreObject] | None = None
    """Environment variables of the workload (Kubernetes' EnvVar); they win over the platform's."""
    volumes: list[CoreObject] | None = None
    """Additional volumes of the pods (Kubernetes' Volume)."""
    volume_mounts: list[CoreObject] | None = None
    """Additional mounts of the workload's containers (Kubernetes' VolumeMount)."""
    enable_mnnvl: Bool | None = Field(default=None, alias="enableMNNVL")
    """Multi-node NVLink; absent means on for gb200 and gb300."""
    checkpoint: Checkpoint | None = None
    """Checkpoint storage and restarts."""
    resources: CoreObject | None = None
    """Resources of the worker containers (Kubernetes' ResourceRequirements); GPUs are added when not named."""
    init_containers: list[CoreObject] | None = None
    """Init containers of the pods (Kubernetes' Container); those that ask for devices run in MPI's workers only."""
    orchestration: Orchestration | None = None
    """Grouping, repetition, concurrency and time limit."""
    thresholds: Thresholds | None = None
    """Requirements on measured values: CEL over the number `value`, by key: busBandwidthGBps: value >= 300."""
    goodput_measurement: GoodputMeasurementTemplate | None = None
    """Measures training goodput."""
    bandwidth_measurement: BandwidthMeasurementTemplate | None = None
    """Measures NCCL bandwidth."""
    overrides: list[Override] | None = None
    """Changes to what is rendered, each for the clusters its `when` matches."""
    gang_scheduler: GangScheduler | None = None
    """Gang-aware scheduling."""
    workload_metadata: WorkloadMetadata | None = None
    """Labels for the TrainJobs."""


class WorkflowReference(ApiModel):
    """Names the Workflow of a run."""

    name: str
    """Name of the Workflow."""
    namespace: str | None = None
    """Namespace of the Workflow."""


class WorkloadRunStatus(ApiModel):
    """Where the run stands, and in the end what it found."""

    conditions: list[Condition] | None = Field(default=None, json_schema_extra={"x-kubernetes-list-type": "map"})
    """InProgress, Succeeded and Failed exclude each other; ValidationFailed is additive."""
    verdict: str | None = None
    """Passed, Failed or Incomplete; absent while the run is under way."""
    verdict_reasons: list[str] | None = None
    """Why the verdict is what it is, the first ones. Passed has reasons too where something is worth knowing: a group
    that passed only when it was tried again, traffic over TCP sockets where the run says that there is no fabric."""
    workflow_ref: WorkflowReference | None = None
    """The underlying Workflow."""
    detected_gpu_architecture: str | None = Field(default=None, alias="detectedGPUArchitecture")
    """GPU architecture found on the nodes, for example h100."""
    detected_platform: str | None = None
    """Platform found on the nodes, for example aws."""
    resolved_gpus_per_node: Int32 | None = None
    """GPUs used on each node."""
    succeeded_nodes_ref: TypedLocalObjectReference | None = None
    """ConfigMap with the nodes that passed."""
    failed_nodes_ref: TypedLocalObjectReference | None = None
    """ConfigMap with the nodes that failed."""
    coverage: Coverage | None = None
    """How many nodes were targeted, tested and left out."""
    excluded_nodes: list[ExcludedNode] | None = None
    """Targeted nodes that were left out, the first ones, each with its reason."""
    progress: Progress | None = None
    """Groups of the current iteration by state."""
    results: Results | None = None
    """Measured values over all groups."""
    applied_overrides: list[AppliedOverride] | None = None
    """Overrides that matched, and what each changed."""
    warnings: list[str] | None = None
    """Things worth knowing that change nothing, for example nodes that another run under way was planned for."""
    waiting: Waiting | None = None
    """What the run waits for, absent when for nothing in particular."""
    completion_time: Timestamp | None = None
    """When the run ended."""
    observed_generation: Int32 | None = None
    """Generation of the spec that this status is about."""
