"""Gang scheduling: who schedules, under which queue label, and that overrides have left both in place everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sync_hooks.api.limits import DEFAULT_QUEUE, MOST_LABELS
from sync_hooks.api.trainer import JsonObject
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.runtimes.workload import Gang

DEFAULT_QUEUE_LABEL_KEY = "kai.scheduler/queue"


def gang_of(spec: WorkloadRunSpec) -> Gang | None:
    """Return the gang scheduler with its defaults filled in; None where the run names none."""
    given = spec.gang_scheduler
    if given is None or not given.scheduler_name:
        return None
    return Gang(given.scheduler_name, given.queue or DEFAULT_QUEUE, given.queue_label_key or DEFAULT_QUEUE_LABEL_KEY)


def workload_labels(spec: WorkloadRunSpec) -> dict[str, str] | str:
    """Return the labels of the TrainJobs, the queue's among them; text where they contradict each other."""
    labels = dict((spec.workload_metadata.labels if spec.workload_metadata else None) or {})
    gang = gang_of(spec)
    if gang is None:
        return labels
    return _with_queue(labels, gang, "spec.workloadMetadata.labels")


def restore_queue(job: JsonObject, spec: WorkloadRunSpec) -> JsonObject | str:
    """Put the queue label back onto the TrainJobs where an override removed it; text where one changed it."""
    gang = gang_of(spec)
    if gang is None:
        return job
    metadata = job["spec"].get("workloadMetadata") or {}
    labels = _with_queue(metadata.get("labels") or {}, gang, "spec.jobTemplate.spec.workloadMetadata.labels")
    if isinstance(labels, str):
        return labels
    return {**job, "spec": {**job["spec"], "workloadMetadata": {**metadata, "labels": labels}}}


def conflict(runtime: JsonObject, train_job: JsonObject, spec: WorkloadRunSpec) -> str:
    """Say which pods an override has taken away from the gang scheduler; empty where none.

    Every replicatedJob is looked at, as Trainer will see it: the runtime with the TrainJob's patches laid over it.
    """
    gang = gang_of(spec)
    if gang is None:
        return ""
    for name, job in _replicated_jobs(runtime):
        patches = [patch for patched, patch in _patched_jobs(train_job) if patched == name]
        for part, wanted, found in _findings([job, *patches], gang):
            if found != wanted:
                return f"replicatedJob {name}: {part} is {found or 'absent'}, the run's gangScheduler says {wanted}"
    return ""


def _with_queue(labels: Mapping[str, str], gang: Gang, path: str) -> dict[str, str] | str:
    key, queue = gang.queue_label_key, gang.queue
    if labels.get(key, queue) != queue:
        return f"{path}[{key}] is {labels[key]}, and gangScheduler.queue is {queue}"
    merged = {**labels, key: queue}
    if len(merged) > MOST_LABELS:
        return f"{path} has {len(labels)} labels; with the queue's there may be {MOST_LABELS}"
    return merged


def _findings(layers: list[JsonObject], gang: Gang) -> Iterator[tuple[str, str, str]]:
    """Yield what must be the same: name, wanted value, the value of the last layer that has one."""
    key, queue = gang.queue_label_key, gang.queue
    job_labels = [_at(layer, "template", "metadata", "labels", key) for layer in layers]
    pod_labels = [_at(layer, "template", "spec", "template", "metadata", "labels", key) for layer in layers]
    names = [_at(layer, "template", "spec", "template", "spec", "schedulerName") for layer in layers]
    yield (f"label {key} of the Job template", queue, _last(job_labels))
    yield (f"label {key} of the pod template", queue, _last(pod_labels))
    yield ("schedulerName", gang.scheduler_name, _last(names))


def _replicated_jobs(runtime: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        yield job["name"], job


def _patched_jobs(train_job: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for patch in train_job.get("runtimePatches") or ():
        for job in _at(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs") or ():
            yield job["name"], job


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _last(values: list[Any]) -> str:
    given = [str(value) for value in values if value]
    return given[-1] if given else ""
