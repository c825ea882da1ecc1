"""The platform table as data: what a platform and an architecture need, each row with its reason."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from sync_hooks.api.model import ApiModel

ANY_PLATFORM = "any"
NIC = "${nic}"  # stands for the NIC resource that the run names or that was detected
MNNVL = "${mnnvl}"  # stands for 1 where multi-node NVLink is on, else 0

Count = Annotated[int, Field(ge=1)] | Literal["gpus", "nics"]


class Claim(ApiModel):
    """Devices that each worker claims through a template of its own."""

    name: str = Field(min_length=1)
    """Name of the claim in the pod."""
    request: str = Field(min_length=1)
    """Name of the request in the template."""
    device_class: str = Field(min_length=1)
    """DeviceClass."""
    template: str = Field(min_length=1)
    """End of the template's name."""
    count: Count
    """How many devices."""


class Fabric(ApiModel):
    """The interfaces of a node. ``mlnxPerNode`` replaces the count, 0 drops all of this."""

    resources: list[str] = []
    """Extended resources: one, of which ``count`` are requested, or several, of which one each."""
    count: Count | None = None
    """How many of the one resource."""
    claims: list[Claim] = []
    """Interfaces that are claimed as devices."""
    pod_annotations: dict[str, str] = {}
    """Annotations on the workers' pod template."""


class Row(ApiModel):
    """When it applies, what it does, and why."""

    name: str = Field(min_length=1)
    """Unique within the file."""
    why: str = Field(min_length=1)
    """The reason for the row."""
    architectures: Annotated[list[str], Field(min_length=1)] | None = None
    """GPU architectures; absent means all."""
    frameworks: Annotated[list[Literal["torch", "mpi", "exec"]], Field(min_length=1)] | None = None
    """Frameworks; absent means all."""
    gpus_per_node: Annotated[list[int], Field(min_length=1)] | None = None
    """Numbers of GPUs a node; absent means any."""
    mnnvl: bool | None = None
    """Whether multi-node NVLink is on; absent means either."""
    needs_fabric: bool = False
    """Only where the run has not opted out of the fabric by mlnxPerNode 0."""
    topology_key: str | None = None
    """Node label of the domain that groups keep to where they can."""
    mpi_args: list[str] = []
    """Arguments put in front of the run's own arguments of mpirun."""
    pre_command: list[str] = []
    """Lines of shell that run before the trainer's command."""
    env: dict[str, str] = {}
    """Variables of the trainer; under MPI of every rank too."""
    container_env: dict[str, str] = {}
    """Variables of the worker containers; under MPI of every rank too."""
    capabilities: list[str] = []
    """Linux capabilities added to the worker containers."""
    tolerations: list[dict[str, Any]] = []
    """Tolerations added to the workers' pods."""
    compute_domain: bool = False
    """A ComputeDomain a group, whose channel the workers claim."""
    gpu_claim: Claim | None = None
    """GPUs are claimed as devices instead of requested as nvidia.com/gpu."""
    fabric: Fabric | None = None
    """The interfaces of a node."""


@cache
def rows_of(platform: str) -> tuple[tuple[str, Row], ...]:
    """Return the rows for a platform in order, each with its source (``aws/rack``): those of all platforms first."""
    files = (ANY_PLATFORM,) if platform in ("", ANY_PLATFORM) else (ANY_PLATFORM, platform)
    return tuple((f"{file}/{row.name}", row) for file in files for row in _load(file))


@cache
def table_platforms() -> tuple[str, ...]:
    """Return the platforms that have rows of their own, sorted."""
    names = (entry.name for entry in resources.files("sync_hooks.overrides.data").iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml") and name != "any.yaml"))


def _load(file: str) -> tuple[Row, ...]:
    if file != ANY_PLATFORM and file not in table_platforms():
        return ()
    text = resources.files("sync_hooks.overrides.data").joinpath(f"{file}.yaml").read_text(encoding="utf-8")
    return tuple(Row.model_validate(row) for row in yaml.safe_load(text))
