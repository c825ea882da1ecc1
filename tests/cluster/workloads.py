"""TrainJobs and runtimes for tests of the control plane, shaped as the product's: pods that fail at once."""

from __future__ import annotations

from typing import Any


def train_job(name: str, runtime: str = "whole-nodes", nodes: int = 2) -> dict[str, Any]:
    """Return a TrainJob of so many pods."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": runtime},
            "trainer": {"image": "example.test/work:1", "command": ["work"], "numNodes": nodes},
        },
    }


def training_runtime(name: str = "whole-nodes", scheduler: str = "default-scheduler") -> dict[str, Any]:
    """Return a runtime whose pods take a whole node of eight GPUs each."""
    container = {"name": "node", "image": "example.test/work:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    pod = {"restartPolicy": "Never", "schedulerName": scheduler, "containers": [container]}
    job = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name},
        "spec": {
            "mlPolicy": {"numNodes": 1},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}},
        },
    }
