"""From a Job to its TrainJob: one an attempt, labelled so that every pod can be found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sync_hooks.api.names import (
    LABEL_GROUP,
    LABEL_ITERATION,
    LABEL_JOB,
    LABEL_MANAGED_BY,
    LABEL_WORKFLOW,
    LABEL_WORKLOAD_RUN,
    MANAGED_BY,
    train_job_name,
)
from sync_hooks.api.trainer import PATCH_MANAGER, TRAINER_VERSION, WORKER, JsonObject
from sync_hooks.planning.cleaning import ENDS

CARRIED = (LABEL_GROUP, LABEL_ITERATION, LABEL_WORKFLOW, LABEL_WORKLOAD_RUN)


def render_train_job(
    job_name: str, namespace: str, spec: Mapping[str, Any], labels: Mapping[str, str], attempt: int
) -> dict[str, Any]:
    """Render the TrainJob of one attempt; ``spec`` and ``labels`` are the Job's, ``attempt`` counts from 0.

    Pods of every replicatedJob that our patch names get the Job's label, the launcher's too: that is where MPI fails.
    """
    train_job = spec["workload"]["trainJob"]
    own = {key: labels[key] for key in CARRIED if key in labels}
    chosen = (spec.get("workloadMetadata") or {}).get("labels") or {}
    return {
        "apiVersion": TRAINER_VERSION,
        "kind": "TrainJob",
        "metadata": {
            "name": train_job_name(job_name, attempt),
            "namespace": namespace,
            "labels": {**chosen, LABEL_MANAGED_BY: MANAGED_BY, LABEL_JOB: job_name, **own},
        },
        "spec": {
            **{key: value for key, value in train_job.items() if key not in ENDS},
            "runtimePatches": _labelled_patches(train_job.get("runtimePatches") or [], {LABEL_JOB: job_name}),
        },
    }


def _labelled_patches(patches: list[JsonObject], labels: Mapping[str, str]) -> list[JsonObject]:
    if not any(patch.get("manager") == PATCH_MANAGER for patch in patches):
        patches = [*patches, {"manager": PATCH_MANAGER}]
    return [_labelled(patch, labels) if patch.get("manager") == PATCH_MANAGER else patch for patch in patches]


def _labelled(patch: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    """Add pod labels to every replicatedJob of a patch, to the workers where it names none."""
    spec = patch.get("trainingRuntimeSpec") or {}
    template = spec.get("template") or {}
    job_set = template.get("spec") or {}
    jobs = job_set.get("replicatedJobs") or [{"name": WORKER}]
    changed = {**template, "spec": {**job_set, "replicatedJobs": [_with_labels(job, labels) for job in jobs]}}
    return {**patch, "trainingRuntimeSpec": {**spec, "template": changed}}


def _with_labels(job: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    template = job.get("template") or {}
    job_spec = template.get("spec") or {}
    pod = job_spec.get("template") or {}
    metadata = pod.get("metadata") or {}
    new = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
    return {**job, "template": {**template, "spec": {**job_spec, "template": {**pod, "metadata": new}}}}
