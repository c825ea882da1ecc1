"""Changes to what is rendered, chosen by what was detected."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from sync_hooks.api.limits import MOST_ITERATIONS, MOST_RETRIES
from sync_hooks.api.model import ApiModel, Bool, CoreObject, Duration, Int32
from sync_hooks.api.target import Target

AnyJson = Annotated[Any, WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]


class StringMatch(ApiModel):
    """Matches a word; all parts that are given must hold."""

    equals: str | None = None
    """The word is this one."""
    in_: list[str] | None = Field(default=None, alias="in")
    """The word is one of these."""
    not_in: list[str] | None = None
    """The word is none of these."""


class IntMatch(ApiModel):
    """Matches a number; all parts that are given must hold."""

    equals: Int32 | None = None
    """The number is this one."""
    greater_than: Int32 | None = None
    """The number is larger than this."""
    less_than: Int32 | None = None
    """The number is smaller than this."""


class TopologyMatch(ApiModel):
    """Matches how groups are formed."""

    mode: str | None = Field(default=None, pattern="^(topology|simple)$")
    """topology when groups follow a topology label, else simple."""
    domain_count: IntMatch | None = None
    """Number of topology domains among the nodes."""


class When(ApiModel):
    """Conditions on what was detected; all parts that are given must hold, none given always matches."""

    platform: StringMatch | None = None
    """Detected platform."""
    gpu_architecture: StringMatch | None = None
    """Detected GPU architecture."""
    workload_kind: str | None = Field(default=None, pattern="^(TrainJob)$")
    """Kind of the workload: TrainJob."""
    topology: TopologyMatch | None = None
    """How groups are formed."""
    expression: str | None = Field(default=None, min_length=1, max_length=2048)
    """CEL over platform, gpuArchitecture, workloadKind, topologyMode (strings) and domainCount (int)."""


class TopologyOverride(ApiModel):
    """Grouping by a topology label."""

    topology_key: str | None = Field(default=None, min_length=1, max_length=317)
    """Node label that names the domain."""
    strict_domain: Bool | None = None
    """One group a domain, whatever its size."""


class ExecutionOverride(ApiModel):
    """How groups are launched."""

    max_concurrent: Annotated[Int32, Field(ge=0)] | None = None
    """How many groups run at once; 0 means all."""
    timeout_per_job: Duration | None = None
    """How long one group may run."""
    retry_failed_groups: Annotated[Int32, Field(ge=0, le=MOST_RETRIES)] | None = None
    """How often a failed group is tried again."""


class OrchestrationOverride(ApiModel):
    """Changes to grouping and launching, merged field by field."""

    target: Target | None = None
    """Nodes to test."""
    topology: TopologyOverride | None = None
    """Grouping by topology."""
    placement: str | None = Field(default=None, pattern="^(Pinned|Unpinned)?$")
    """Pinned or Unpinned."""
    execution: ExecutionOverride | None = None
    """Launching."""
    iterations: Annotated[Int32, Field(ge=1, le=MOST_ITERATIONS)] | None = None
    """How often every group runs."""


class Override(ApiModel):
    """One change: when it applies, and what it changes."""

    when: When | None = None
    """When it applies; absent means always."""
    job_template: CoreObject | None = None
    """Strategic merge patch of the Job template: maps merge, null deletes, lists replace what is there. In maps,
    `$patch: replace` and `$patch: delete` are understood."""
    job_template_patch: AnyJson | None = None
    """JSON patch (RFC 6902) of the Job template: a list of operations, or text that holds one."""
    dependencies: list[CoreObject] | None = None
    """Objects to add, or to merge into those of the same kind and name: maps merge, null deletes, entries of lists
    merge by name. Their metadata has a name, and may have labels, annotations and the run's namespace. The result is
    judged as a whole when the run is planned."""
    orchestration: OrchestrationOverride | None = None
    """Changes to grouping and launching."""
