"""The pods of a plan as Trainer makes them: the runtime's, under the TrainJob's patches and its trainer's resources.

The nodes of a group are not in them: they come with its Job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sync_hooks.api.quantity import whole_units
from sync_hooks.api.trainer import (
    ANCESTOR_TRAINER,
    LABEL_ANCESTOR,
    TRAINING_RUNTIME,
    WORKER,
    JsonObject,
    kind_of,
    pod_of,
)
from sync_hooks.overrides.merge import merge_object
from sync_hooks.planning.plan import Plan

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def made_pods(runtime: JsonObject, train_job: JsonObject) -> dict[str, JsonObject]:
    """Return the pod specs by replicatedJob, from a TrainingRuntime and the spec of a TrainJob."""
    patches = [job for patch in train_job.get("runtimePatches") or () for job in _patched(patch)]
    resources = (train_job.get("trainer") or {}).get("resourcesPerNode")
    return {str(job["name"]): _made(job, patches, resources) for job in jobs_of(runtime)}


def pods_of(plan: Plan) -> dict[str, JsonObject]:
    """Return the pod specs of a run by replicatedJob."""
    return made_pods(runtime_of(plan), _train_job(plan))


def pod_counts(plan: Plan, workers: int) -> dict[str, int]:
    """Return how many pods a group of so many workers has, by replicatedJob."""
    return {str(job["name"]): workers if job["name"] == WORKER else _count(job) for job in replicated_jobs_of(plan)}


def containers_of(pod: JsonObject) -> list[JsonObject]:
    """Return every container of a pod spec, in the order in which they start."""
    return [container for field in CONTAINERS for container in pod.get(field) or ()]


def replicated_jobs_of(plan: Plan) -> Sequence[JsonObject]:
    """Return the replicatedJobs of the run's runtime, or of the copy that each Job brings."""
    return jobs_of(runtime_of(plan))


def runtime_of(plan: Plan) -> JsonObject:
    """Return the run's TrainingRuntime, or the copy that each Job brings; empty where there is none."""
    own = (plan.job.get("spec") or {}).get("dependencies") or ()
    return plan.runtime or next((item for item in own if kind_of(item) == TRAINING_RUNTIME), {})


def jobs_of(runtime: JsonObject) -> Sequence[JsonObject]:
    """Return the replicatedJobs of a TrainingRuntime, or of a patch of one."""
    template = (runtime.get("spec") or {}).get("template") or {}
    jobs: Sequence[JsonObject] = (template.get("spec") or {}).get("replicatedJobs") or ()
    return jobs


def _train_job(plan: Plan) -> JsonObject:
    workload = (plan.job.get("spec") or {}).get("workload") or {}
    train_job: JsonObject = workload.get("trainJob") or {}
    return train_job


def _patched(patch: JsonObject) -> Sequence[JsonObject]:
    return jobs_of({"spec": patch.get("trainingRuntimeSpec")})


def _made(job: JsonObject, patches: Sequence[JsonObject], resources: JsonObject | None) -> JsonObject:
    pod = pod_of(job)
    for patch in patches:
        pod = merge_object(pod, pod_of(patch)) if patch.get("name") == job["name"] else pod
    if not resources or not _is_trainers(job):
        return pod
    containers = [_with_resources(one, resources) for one in pod.get("containers") or ()]
    return {**pod, "containers": containers}


def _with_resources(container: JsonObject, resources: Mapping[str, Any]) -> JsonObject:
    """Lay the trainer's resources over those of its container: amounts that it does not name stay."""
    if container.get("name") != WORKER:
        return container
    return {**container, "resources": merge_object(container.get("resources") or {}, resources)}


def _is_trainers(job: JsonObject) -> bool:
    labels = ((job.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return bool(labels.get(LABEL_ANCESTOR) == ANCESTOR_TRAINER)


def _count(job: JsonObject) -> int:
    spec = (job.get("template") or {}).get("spec") or {}
    return whole_units(job.get("replicas", 1)) * whole_units(spec.get("parallelism", 1))
