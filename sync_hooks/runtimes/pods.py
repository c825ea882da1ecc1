"""Parts of pod templates that the frameworks share: metadata, storage, resources.

Names and places of ours are never the user's: planning and admission refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sync_hooks.api.names import GPU
from sync_hooks.api.trainer import ANCESTOR_TRAINER, LABEL_ANCESTOR, JsonObject
from sync_hooks.runtimes.workload import Gang, Workload

SHARED_MEMORY: JsonObject = {"name": "dshm", "emptyDir": {"medium": "Memory"}}
SHARED_MEMORY_MOUNT: JsonObject = {"name": "dshm", "mountPath": "/dev/shm"}  # noqa: S108 - NCCL's, not a temporary file


def replicated_job(
    name: str, pod_spec: JsonObject, gang: Gang | None, *, pods: int, ancestor: bool, depends_on: str = ""
) -> JsonObject:
    """Wrap a pod spec into a replicatedJob whose pods fail at once: a flaky node is seen, not masked.

    ``ancestor`` marks the pods that get the TrainJob's image and command. Parallelism equals completions, so that a
    gang scheduler counts right; Trainer sets both to the group's size.
    """
    labels = {**({LABEL_ANCESTOR: ANCESTOR_TRAINER} if ancestor else {}), **(gang.labels if gang else {})}
    pod_template: JsonObject = {
        **({"metadata": {"labels": gang.labels}} if gang else {}),
        "spec": {
            "restartPolicy": "Never",
            **({"schedulerName": gang.scheduler_name} if gang else {}),
            **pod_spec,
        },
    }
    job_spec = {"backoffLimit": 0, "parallelism": pods, "completions": pods, "template": pod_template}
    return {
        "name": name,
        **({"dependsOn": [{"name": depends_on, "status": "Ready"}]} if depends_on else {}),
        "template": {**({"metadata": {"labels": labels}} if labels else {}), "spec": job_spec},
    }


def volumes(workload: Workload, own: Iterable[JsonObject]) -> list[JsonObject]:
    """Return our volumes, then the user's."""
    return [*own, *workload.volumes]


def mounts(workload: Workload, own: Iterable[JsonObject]) -> list[JsonObject]:
    """Return our mounts, then the user's."""
    return [*own, *workload.volume_mounts]


def worker_resources(resources: Mapping[str, Any] | None, gpus: int) -> JsonObject:
    """Return the user's resources with the node's GPUs in limits and requests, unless the user names GPUs himself."""
    given = dict(resources or {})
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    if GPU in limits or GPU in requests or gpus <= 0:
        return given
    count = {GPU: str(gpus)}
    return {**given, "limits": {**limits, **count}, "requests": {**requests, **count}}


def asks_for_devices(container: JsonObject) -> bool:
    """Tell whether a container asks for what only some nodes have, by a resource with a slash or by a claim."""
    resources = container.get("resources") or {}
    named = {*(resources.get("limits") or ()), *(resources.get("requests") or ())}
    return bool(resources.get("claims")) or any("/" in name for name in named)


def init_containers(own: Iterable[JsonObject]) -> JsonObject:
    """Return the field initContainers, absent where there are none."""
    listed = list(own)
    return {"initContainers": listed} if listed else {}
