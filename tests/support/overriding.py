"""Overrides that change pods: in the runtime, or by a patch of the TrainJob under a manager of the user's own."""

from __future__ import annotations

from typing import Any


def overridden(replicated_job: str = "node", **pod: Any) -> dict[str, Any]:
    """Change the pods of the runtime."""
    kind = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime"}
    return {"dependencies": [{**kind, "metadata": {"name": "demo-runtime"}, "spec": _spec(replicated_job, pod)}]}


def patched(replicated_job: str = "node", **pod: Any) -> dict[str, Any]:
    """Patch the pods of the TrainJob."""
    patch = {"manager": "team.example.com/own", "trainingRuntimeSpec": _spec(replicated_job, pod)}
    return {"jobTemplate": {"spec": {"workload": {"trainJob": {"runtimePatches": [patch]}}}}}


def _spec(replicated_job: str, pod: dict[str, Any]) -> dict[str, Any]:
    job = {"name": replicated_job, "template": {"spec": {"template": {"spec": pod}}}}
    return {"template": {"spec": {"replicatedJobs": [job]}}}
