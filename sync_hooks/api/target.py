"""Which nodes a run is about."""

from __future__ import annotations

from pydantic import Field

from sync_hooks.api.model import ApiModel

LABEL_GPU_PRESENT = "nvidia.com/gpu.present"
"""Label that every tested node carries, with the value true, whatever the target says."""


class NodeSelectorRequirement(ApiModel):
    """A requirement on a node's label."""

    key: str = Field(min_length=1, max_length=317)
    """Key of the label."""
    operator: str = Field(pattern="^(In|NotIn|Exists|DoesNotExist)$")
    """In, NotIn, Exists or DoesNotExist."""
    values: list[str] | None = None
    """Values for In and NotIn."""


class TaintSelector(ApiModel):
    """A taint that a node must carry; the workload then tolerates it."""

    key: str = Field(min_length=1, max_length=317)
    """Key of the taint."""
    value: str | None = Field(default=None, max_length=63)
    """Value of the taint; empty means any."""
    effect: str | None = Field(default=None, pattern="^(NoSchedule|PreferNoSchedule|NoExecute)?$")
    """Effect of the taint; empty means any."""


class Target(ApiModel):
    """Nodes that carry nvidia.com/gpu.present=true and meet everything given here."""

    node_selector: dict[str, str] | None = None
    """Labels that a node must carry."""
    match_expressions: list[NodeSelectorRequirement] | None = None
    """Requirements on labels, all of which must hold."""
    node_names: list[str] | None = None
    """Names of the nodes; the other parts still apply."""
    taint_selectors: list[TaintSelector] | None = None
    """Taints that a node must carry, all of them."""
