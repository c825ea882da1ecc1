"""How groups are formed and launched, settled from the run, the platform's topology and the user's overrides."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from sync_hooks.api.duration import parse_duration
from sync_hooks.api.limits import INTRA_NODE, INTRA_RACK
from sync_hooks.api.override import ExecutionOverride, OrchestrationOverride, TopologyOverride
from sync_hooks.api.target import Target
from sync_hooks.api.workloadrun import WorkloadRunSpec

DEFAULT_TIMEOUT = "24h"
DEFAULT_TIMEOUT_SECONDS = 86400
NVLINK_DOMAIN = "nvidia.com/gpu.clique"  # GPU feature discovery sets it everywhere

UNPINNED = "Unpinned"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Orchestration:
    """How groups are formed and launched. ``topology_key`` is empty where groups follow no topology."""

    target: Target
    group_size: int
    topology_key: str = ""
    strict_domain: bool = False
    """One group a domain, whatever its size."""
    unpinned: bool = False
    """One group, whose nodes the scheduler chooses."""
    iterations: int = 1
    max_concurrent: int = 0
    """Groups that run at once; 0 means all."""
    retry_failed_groups: int = 0
    timeout: str = DEFAULT_TIMEOUT

    @property
    def mode(self) -> str:
        """The word by which overrides know this: topology or simple."""
        return "topology" if self.topology_key else "simple"

    @property
    def timeout_seconds(self) -> int:
        """Time limit of a group in whole seconds, rounded up; the default where the text is no duration."""
        seconds = parse_duration(self.timeout)
        return math.ceil(seconds) if seconds is not None and seconds > 0 else DEFAULT_TIMEOUT_SECONDS


def orchestration_of(spec: WorkloadRunSpec) -> Orchestration:
    """Return what the run itself asks for; the topology's key is not known yet."""
    given = spec.orchestration
    target = spec.target or Target()
    if given is None:
        return Orchestration(target, spec.num_nodes)
    return Orchestration(
        target=target,
        group_size=1 if given.test_scale == INTRA_NODE else spec.num_nodes,
        strict_domain=given.test_scale == INTRA_RACK,
        unpinned=given.placement == UNPINNED,
        iterations=given.repeat_count or 1,
        max_concurrent=given.max_concurrent or 0,
        timeout=given.timeout_per_job or DEFAULT_TIMEOUT,
    )


def with_topology(orchestration: Orchestration, preferred_key: str, rack_key: str) -> Orchestration:
    """Fill in the topology's key: the architecture's, or for one group a rack the platform's, else the NVLink domain.

    Groups of one node, and groups whose nodes the scheduler chooses, follow no topology.
    """
    if orchestration.group_size == 1 and not orchestration.strict_domain:
        return orchestration
    if orchestration.unpinned:
        return orchestration
    key = preferred_key or ((rack_key or NVLINK_DOMAIN) if orchestration.strict_domain else "")
    return replace(orchestration, topology_key=key)


def overridden(orchestration: Orchestration, changes: Iterable[OrchestrationOverride]) -> Orchestration:
    """Lay the overrides' fields over it one by one: what an override does not name stays."""
    for change in changes:
        topology, execution = change.topology or TopologyOverride(), change.execution or ExecutionOverride()
        orchestration = Orchestration(
            target=change.target or orchestration.target,
            group_size=orchestration.group_size,
            topology_key=topology.topology_key or orchestration.topology_key,
            strict_domain=_first(topology.strict_domain, orchestration.strict_domain),
            unpinned=change.placement == UNPINNED if change.placement else orchestration.unpinned,
            iterations=change.iterations or orchestration.iterations,
            max_concurrent=_first(execution.max_concurrent, orchestration.max_concurrent),
            retry_failed_groups=_first(execution.retry_failed_groups, orchestration.retry_failed_groups),
            timeout=execution.timeout_per_job or orchestration.timeout,
        )
    if orchestration.strict_domain and not orchestration.topology_key:
        return replace(orchestration, topology_key=NVLINK_DOMAIN)
    return orchestration


def _first(given: T | None, otherwise: T) -> T:
    return otherwise if given is None else given
