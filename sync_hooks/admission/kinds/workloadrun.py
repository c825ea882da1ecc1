"""What is asked of a WorkloadRun: the whole list of its rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sync_hooks.admission.defaulting import RUN_DEFAULTS
from sync_hooks.admission.rules import Advice, KindRules, Rule
from sync_hooks.admission.validation.checkpoint import checkpoint_errors, size_advice
from sync_hooks.admission.validation.config import config_errors
from sync_hooks.admission.validation.containers import container_errors
from sync_hooks.admission.validation.core import list_shape, object_shape
from sync_hooks.admission.validation.environment import environment_advice, environment_errors
from sync_hooks.admission.validation.framework import framework_advice, framework_errors
from sync_hooks.admission.validation.measurements import (
    bandwidth_advice,
    bandwidth_errors,
    goodput_advice,
    goodput_errors,
)
from sync_hooks.admission.validation.network import network_advice
from sync_hooks.admission.validation.orchestration import orchestration_advice, orchestration_errors, restart_advice
from sync_hooks.admission.validation.pods import mount_errors
from sync_hooks.admission.validation.resources import (
    image_errors,
    memory_advice,
    nic_errors,
    resource_advice,
    resource_errors,
    secret_errors,
)
from sync_hooks.admission.validation.retention import retention_errors
from sync_hooks.admission.validation.scheduling import gang_errors, workload_label_errors
from sync_hooks.admission.validation.target import target_advice, target_errors
from sync_hooks.admission.validation.thresholds import threshold_advice, threshold_errors
from sync_hooks.admission.validation.volumes import volume_advice, volume_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import RUN_NAMES
from sync_hooks.api.workloadrun import WorkloadRunSpec


def override_errors(spec: Value) -> Iterable[FieldError]:
    """Check every override; the rules for that are many, and imported for runs that have one."""
    from sync_hooks.admission.validation import overrides

    return overrides.override_errors(spec)


def belonging_errors(root: Value) -> Iterable[FieldError]:
    """Check that what overrides name is the run's own."""
    from sync_hooks.admission.validation import overrides

    return overrides.belonging_errors(root)


def override_advice(spec: Value) -> Iterable[str]:
    """Point at overrides that change nothing."""
    from sync_hooks.admission.validation import overrides

    return overrides.override_advice(spec)


RUN_RULES: Mapping[str, tuple[Rule, ...]] = {
    "checkpoint": (checkpoint_errors,),
    "config": (config_errors,),
    "env": (list_shape("env", "EnvVar"), environment_errors),
    "framework": (framework_errors,),
    "gangScheduler": (gang_errors,),
    "image": (image_errors,),
    "imagePullSecrets": (secret_errors,),
    "initContainers": (list_shape("initContainers", "Container"), container_errors),
    "bandwidthMeasurement": (bandwidth_errors,),
    "goodputMeasurement": (goodput_errors,),
    "nicResourceName": (nic_errors,),
    "orchestration": (orchestration_errors,),
    "overrides": (override_errors,),
    "resources": (object_shape("resources", "ResourceRequirements"), resource_errors),
    "target": (target_errors,),
    "thresholds": (threshold_errors,),
    "volumeMounts": (list_shape("volumeMounts", "VolumeMount"), mount_errors),
    "volumes": (list_shape("volumes", "Volume"), volume_errors),
    "workloadMetadata": (workload_label_errors,),
}
RUN_OBJECT_RULES: Mapping[str, tuple[Rule, ...]] = {"overrides": (belonging_errors,)}
RUN_ADVICE: Mapping[str, tuple[Advice, ...]] = {
    "bandwidthMeasurement": (bandwidth_advice, network_advice),
    "checkpoint": (restart_advice, size_advice),
    "env": (environment_advice,),
    "framework": (framework_advice,),
    "goodputMeasurement": (goodput_advice,),
    "gpusPerNode": (resource_advice,),
    "initContainers": (memory_advice,),
    "orchestration": (orchestration_advice,),
    "overrides": (override_advice,),
    "resources": (memory_advice,),
    "target": (target_advice,),
    "thresholds": (threshold_advice,),
    "volumes": (volume_advice,),
}

RULES = {
    "WorkloadRun": KindRules(
        model=WorkloadRunSpec,
        rules=RUN_RULES,
        object_rules={**RUN_OBJECT_RULES, "image": (retention_errors,)},
        advice=RUN_ADVICE,
        defaults=RUN_DEFAULTS,
        immutable=True,
        names=RUN_NAMES,
    )
}
