"""The neutral record between what a run asks for and what a framework makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sync_hooks.api.framework import Framework
from sync_hooks.api.trainer import JsonObject

KAI_SCHEDULER = "kai-scheduler"


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang-aware scheduler and the label that names the queue."""

    scheduler_name: str
    queue: str
    queue_label_key: str

    @property
    def labels(self) -> dict[str, str]:
        """The queue as a label."""
        return {self.queue_label_key: self.queue}


@dataclass(frozen=True, slots=True)
class Workload:
    """A run with every number resolved. Kubernetes' own objects (env, volumes) stay as the user wrote them."""

    framework: Framework
    image: str
    nodes: int
    """Nodes of a group."""
    gpus: int
    """GPUs, and so ranks, of a node."""
    timeout_seconds: int
    """Time limit of the workload."""
    mnnvl: bool = False
    """Multi-node NVLink."""
    user_env: Sequence[JsonObject] = ()
    """The user's EnvVars; they win over everything."""
    platform_mpi_args: Sequence[str] = ()
    """Arguments of mpirun that the platform needs."""
    resources: Mapping[str, Any] | None = None
    volumes: Sequence[JsonObject] = ()
    volume_mounts: Sequence[JsonObject] = ()
    init_containers: Sequence[JsonObject] = ()
    gang: Gang | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a framework makes of a workload: the spec of a TrainingRuntime, and the trainer's command."""

    runtime_spec: JsonObject
    replicated_jobs: tuple[str, ...]
    command: tuple[str, ...]
    args: tuple[str, ...]
