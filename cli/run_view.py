"""A run as people look at it: groups and nodes, each with its state, reason and figures; the same for every form.

Gathers and sorts; how it is shown is the reports' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cli.group_view import GroupView, group_views
from cli.node_view import NodeView, node_views
from cli.run_objects import RunObjects
from cli.run_status import odd_parts


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, its groups by iteration, group and retry, and its nodes by name."""

    name: str
    namespace: str
    uid: str
    created: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    groups: tuple[GroupView, ...]
    nodes: tuple[NodeView, ...]
    domain_key: str
    """Node label that domains are told by; empty where they are not known."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    """What could not be read, so that nothing is taken for empty that is only unknown."""

    @property
    def verdict(self) -> str:
        """Passed, Failed or Incomplete; empty while the run is under way."""
        return str(self.status.get("verdict", ""))

    @property
    def figure(self) -> str:
        """The figure that groups are compared by: the first that any group has, empty where none was measured."""
        return next((key for key in FIGURES if any(key in group.figures for group in self.groups)), "")

    @property
    def iterations(self) -> int:
        """Iterations in all."""
        return int((self.status.get("progress") or {}).get("iterations", 1))


FIGURES = ("busBandwidthGBps", "algBandwidthGBps", "goodputRatio", "avgTFLOPsPerGPU", "avgStepTimeSec")
"""Figures in the order in which they are shown."""


def view(found: RunObjects) -> RunView:
    """Put a run together from its objects."""
    groups = group_views(found)
    nodes, domain_key = node_views(found, [(group.key, group.nodes, group.state, group.figures) for group in groups])
    metadata, spec = found.run["metadata"], found.run.get("spec")
    return RunView(
        name=found.name,
        namespace=found.namespace,
        uid=str(metadata.get("uid", "")),
        created=str(metadata.get("creationTimestamp", "")),
        spec=spec if isinstance(spec, Mapping) else {},
        status=found.status,
        groups=groups,
        nodes=nodes,
        domain_key=domain_key,
        warnings=found.workflow.status.warnings if found.workflow else (),
        notes=(*found.notes, *odd_parts(found.run)),
    )
