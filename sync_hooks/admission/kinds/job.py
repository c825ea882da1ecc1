"""What is asked of a Job: a TrainJob that Trainer will take, thresholds that can be judged, objects of known kinds."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid
from sync_hooks.admission.expressions import expression_problem
from sync_hooks.admission.official.shape import official_errors
from sync_hooks.admission.rules import KindRules
from sync_hooks.admission.validation.dependencies import dependency_errors
from sync_hooks.admission.validation.durations import duration_errors
from sync_hooks.admission.validation.grammar import check, dns_subdomain
from sync_hooks.admission.validation.jobtemplate import TRAIN_JOB
from sync_hooks.admission.validation.measurements import (
    bandwidth_advice,
    bandwidth_errors,
    goodput_advice,
    goodput_errors,
)
from sync_hooks.admission.validation.orchestration import restart_advice
from sync_hooks.admission.validation.scheduling import workload_label_errors
from sync_hooks.admission.validation.thresholds import threshold_advice, threshold_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.job import JobSpec
from sync_hooks.api.limits import JOB_NAMES

NODE = {"node": "DYN"}


def workload_errors(spec: Value) -> Iterator[FieldError]:
    """Check the TrainJob as the official models have it."""
    train_job = spec.field("workload", "trainJob")
    if isinstance(train_job.json, dict):
        yield from official_errors(train_job, TRAIN_JOB)


def timeout_errors(spec: Value) -> Iterator[FieldError]:
    """Check both time limits."""
    yield from duration_errors(spec.field("timeout"))
    yield from duration_errors(spec.field("measurementTimeout"))


def health_errors(spec: Value) -> Iterator[FieldError]:
    """Check the condition that marks a node as failed."""
    expression = spec.field("nodeHealthMonitor", "cel", "expression")
    if expression.text and (problem := expression_problem(expression.text, NODE)):
        yield invalid(expression, problem)


def claim_errors(spec: Value) -> Iterator[FieldError]:
    """Check the name of the checkpoints' volume."""
    claim = spec.field("checkpoint", "pvcName")
    if claim.text:
        yield from check(claim, dns_subdomain)


def companion_errors(spec: Value) -> Iterator[FieldError]:
    """Check the objects of this group alone."""
    for dependency in spec.field("dependencies").elements():
        if isinstance(dependency.json, dict):
            yield from dependency_errors(dependency)


RULES = {
    "Job": KindRules(
        model=JobSpec,
        rules={
            "bandwidthMeasurement": (bandwidth_errors,),
            "checkpoint": (claim_errors,),
            "dependencies": (companion_errors,),
            "goodputMeasurement": (goodput_errors,),
            "measurementTimeout": (timeout_errors,),
            "nodeHealthMonitor": (health_errors,),
            "thresholds": (threshold_errors,),
            "timeout": (timeout_errors,),
            "workload": (workload_errors,),
            "workloadMetadata": (workload_label_errors,),
        },
        advice={
            "bandwidthMeasurement": (bandwidth_advice,),
            "checkpoint": (restart_advice,),
            "goodputMeasurement": (goodput_advice,),
            "thresholds": (threshold_advice,),
        },
        immutable=True,
        names=JOB_NAMES,
    )
}
