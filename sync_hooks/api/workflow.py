"""The Workflow: a WorkloadRun under way, planned once and followed to its end."""

from __future__ import annotations

from pydantic import Field

from sync_hooks.api.model import ApiModel, Condition, Int32, Timestamp, TypedLocalObjectReference
from sync_hooks.api.results import AppliedOverride, Coverage, ExcludedNode, Progress, Results, Waiting
from sync_hooks.api.workloadrun import WorkloadRunSpec


class WorkflowSpec(WorkloadRunSpec):
    """The admitted spec of the run, as it is: nothing is resolved here."""


class PlanReference(ApiModel):
    """The plan that the Workflow follows."""

    name: str
    """Name of the ConfigMap that holds the plan."""
    sha256: str
    """SHA-256 of the plan's bytes: a plan that differs is not followed."""
    version: Int32
    """Version of the plan's format."""


class IterationSummary(ApiModel):
    """What an iteration came to."""

    iteration: Int32
    """Number of the iteration, from 1."""
    succeeded: Int32
    """Groups that ended well."""
    failed: Int32
    """Groups that ended badly."""
    result: str
    """ConfigMap with every group's result."""
    sha256: str | None = None
    """SHA-256 of the result as it is stored: one that differs is not believed."""
    start_time: Timestamp | None = None
    """When its first workload started."""
    completion_time: Timestamp | None = None
    """When its last workload ended."""


class WorkflowStatus(ApiModel):
    """Where the Workflow stands."""

    conditions: list[Condition] | None = Field(default=None, json_schema_extra={"x-kubernetes-list-type": "map"})
    """InProgress, Succeeded and Failed exclude each other; ValidationFailed is additive."""
    plan: PlanReference | None = None
    """The plan, once it has been seen."""
    detected_platform: str | None = None
    """Platform found on the nodes."""
    detected_gpu_architecture: str | None = Field(default=None, alias="detectedGPUArchitecture")
    """GPU architecture found on the nodes."""
    resolved_gpus_per_node: Int32 | None = None
    """GPUs used on each node."""
    coverage: Coverage | None = None
    """How many nodes were targeted, tested and left out."""
    excluded_nodes: list[ExcludedNode] | None = None
    """Targeted nodes that were left out, the first ones."""
    progress: Progress | None = None
    """Groups of the current iteration by state."""
    launched: str | None = None
    """Groups of the current iteration whose Job has been seen, as ranges: 0-3,5."""
    lost: str | None = None
    """Groups of the current iteration whose Job was deleted by somebody else, as ranges."""
    refused: dict[str, str] | None = None
    """Groups of the current iteration whose Job cannot be made, as ranges: why."""
    retries: dict[str, Int32] | None = None
    """Retries seen in the current iteration, by group number."""
    iterations: list[IterationSummary] | None = None
    """Finished iterations whose result object has been seen."""
    results: Results | None = None
    """Measured values over all groups."""
    unmeasured: list[str] | None = None
    """Requested measurements that brought no data or only a part of it, the first ones, each with the reason."""
    remarks: list[str] | None = None
    """What is worth knowing of groups that passed, the first ones: only when tried again, over TCP sockets, or what
    their measurements noted. They change no verdict and stand among its reasons."""
    applied_overrides: list[AppliedOverride] | None = None
    """Overrides that matched, and what each changed."""
    warnings: list[str] | None = None
    """Things worth knowing that change nothing."""
    succeeded_nodes_ref: TypedLocalObjectReference | None = None
    """ConfigMap with the nodes that passed."""
    failed_nodes_ref: TypedLocalObjectReference | None = None
    """ConfigMap with the nodes that failed."""
    waiting: Waiting | None = None
    """What the Workflow waits for."""
    completion_time: Timestamp | None = None
    """When the Workflow ended."""
    observed_generation: Int32 | None = None
    """Generation of the spec that this status is about."""
