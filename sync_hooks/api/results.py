"""Parts of a status that several kinds show: coverage, progress, results, what is waited for."""

from __future__ import annotations

from pydantic import Field

from sync_hooks.api.model import ApiModel, Float, Int32, Timestamp


class Coverage(ApiModel):
    """Nodes by what became of them."""

    targeted: Int32
    """Nodes that the target selects."""
    tested: Int32
    """Nodes with a verdict of their own: succeeded or failed."""
    excluded: Int32
    """Nodes left out before anything ran, and nodes that were cordoned or lost before they could be judged."""
    inconclusive: Int32
    """Nodes without a verdict: their group's failure was blamed on others or on nobody, or nothing ran on them."""


class ExcludedNode(ApiModel):
    """A node that was left out."""

    name: str
    """Name of the node."""
    reason: str
    """Why: cordoned, NotReady, wrong architecture, too few GPUs or more than used, untolerated taint, unlabelled."""


class Progress(ApiModel):
    """Groups of the current iteration by state."""

    iteration: Int32
    """Current iteration, from 1."""
    iterations: Int32
    """Iterations in all."""
    groups: Int32
    """Groups of an iteration."""
    pending: Int32
    """Not launched, or launched and waiting to be scheduled."""
    running: Int32
    """Running, or ended and still being measured or torn down."""
    succeeded: Int32
    """Ended well."""
    failed: Int32
    """Ended badly."""
    since: Timestamp | None = None
    """When these counts last changed."""


class WorstGroup(ApiModel):
    """The group with the worst value."""

    group: Int32
    """Number of the group."""
    nodes: list[str]
    """Its nodes, the first ones."""


class OutlierGroup(ApiModel):
    """A group that stands apart from the others."""

    group: Int32
    """Number of the group."""
    value: Float
    """Its value; of several iterations the one furthest from the median."""
    nodes: list[str]
    """Its nodes, the first ones."""


class Distribution(ApiModel):
    """A measured value over the groups of all iterations."""

    min: Float
    """Smallest value."""
    median: Float
    """Median."""
    max: Float
    """Largest value."""
    worst: WorstGroup | None = None
    """Group with the worst value."""
    outliers: list[OutlierGroup] | None = None
    """Groups further from the median than 3.5 scaled median absolute deviations and 5 % of it, furthest first, the
    first ones; only where five groups or more were measured. They do not change the verdict."""


class Results(ApiModel):
    """Measured values over all groups; absent where nothing was measured."""

    bus_bandwidth_g_bps: Distribution | None = Field(default=None, alias="busBandwidthGBps")
    """Peak bus bandwidth of a group in GB/s (10^9 bytes)."""
    alg_bandwidth_g_bps: Distribution | None = Field(default=None, alias="algBandwidthGBps")
    """Peak algorithm bandwidth of a group in GB/s (10^9 bytes)."""
    goodput_ratio: Distribution | None = None
    """Share of the training time that made progress, 0 to 1."""
    avg_tflops_per_gpu: Distribution | None = Field(default=None, alias="avgTFLOPsPerGPU")
    """TFLOP/s per GPU as the framework prints it."""
    avg_step_time_sec: Distribution | None = None
    """Seconds per training step."""


class AppliedOverride(ApiModel):
    """An override that matched."""

    source: str
    """Where it comes from: the platform table's row, or spec.overrides[i]."""
    when: str
    """Its conditions in short."""
    changed: list[str]
    """What it changed; empty when nothing."""


class Waiting(ApiModel):
    """Something that is waited for, with a bound."""

    reason: str
    """What is waited for, as one word."""
    message: str
    """What is waited for, as a sentence."""
    since: Timestamp
    """When the wait began."""
    object: str | None = None
    """Kind and name of the object that is waited for."""


class FailedNode(ApiModel):
    """A node that is blamed."""

    name: str
    """Name of the node."""
    reason: str
    """HardwareFailureDetected, ThresholdViolation or WorkloadFailed.

    Drained, NodeLost, NodeNotReady or NodeUnfit exclude it.
    """
    message: str
    """What happened."""
