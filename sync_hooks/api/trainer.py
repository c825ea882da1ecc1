"""Words of other projects' APIs that we write into objects: Kubeflow Trainer, JobSet, devices."""

from __future__ import annotations

from typing import Any

TRAINER_GROUP = "trainer.kubeflow.org"
TRAINER_VERSION = f"{TRAINER_GROUP}/v1alpha1"
TRAINING_RUNTIME = (TRAINER_VERSION, "TrainingRuntime")
CONFIG_MAP = ("v1", "ConfigMap")
COMPUTE_DOMAIN = ("resource.nvidia.com/v1beta1", "ComputeDomain")
CLAIM_TEMPLATE = ("resource.k8s.io/v1", "ResourceClaimTemplate")
VOLUME_CLAIM = ("v1", "PersistentVolumeClaim")

JOBSET_VERSION = "jobset.x-k8s.io/v1alpha2"
WORKER = "node"  # replicatedJob and container: Trainer puts image, command, args and env into containers of this name
LAUNCHER = "launcher"
LABEL_FRAMEWORK = f"{TRAINER_GROUP}/framework"
LABEL_ANCESTOR = f"{TRAINER_GROUP}/trainjob-ancestor-step"
ANCESTOR_TRAINER = "trainer"  # value of that label where the pods train
LABEL_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
PATCH_MANAGER = "cre.nvidia.com/controller"

JsonObject = dict[str, Any]
"""An object of another project's API, or a part of one."""


def kind_of(manifest: JsonObject) -> tuple[str, str]:
    """Return apiVersion and kind."""
    return str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))


def name_of(manifest: JsonObject) -> str:
    """Return metadata.name, empty where there is none."""
    return str((manifest.get("metadata") or {}).get("name", ""))


def pod_of(replicated_job: JsonObject) -> JsonObject:
    """Return the pod spec of a replicatedJob, empty where there is none."""
    job = ((replicated_job.get("template") or {}).get("spec") or {}).get("template") or {}
    pod: JsonObject = job.get("spec") or {}
    return pod
