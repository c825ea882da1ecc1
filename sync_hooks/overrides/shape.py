"""The little that must hold of a Job template and a TrainingRuntime for planning to go on, whatever overrides did.

The full check is the API server's; here only what is walked later, so that a wrong override is a message, not a crash.
"""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic import ValidationError

from sync_hooks.api.job import JobSpec
from sync_hooks.api.trainer import JsonObject


class _Shape(msgspec.Struct, frozen=True, rename="camel"):
    """Unknown fields are fine; known ones have the right type."""


class _Labelled(_Shape, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Container(_Shape, frozen=True):
    name: str
    env: list[dict[str, Any]] = []


class _PodSpec(_Shape, frozen=True):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    volumes: list[dict[str, Any]] = []
    resource_claims: list[dict[str, Any]] = []
    tolerations: list[dict[str, Any]] = []
    affinity: dict[str, Any] = {}


class _PodTemplate(_Shape, frozen=True):
    metadata: _Labelled = _Labelled()
    spec: _PodSpec = _PodSpec()


class _JobTemplateSpec(_Shape, frozen=True):
    template: _PodTemplate = _PodTemplate()


class _JobTemplate(_Shape, frozen=True):
    metadata: _Labelled = _Labelled()
    spec: _JobTemplateSpec = _JobTemplateSpec()


class _ReplicatedJob(_Shape, frozen=True):
    name: str
    template: _JobTemplate = _JobTemplate()


class _JobSetSpec(_Shape, frozen=True):
    replicated_jobs: list[_ReplicatedJob] = []


class _JobSetTemplate(_Shape, frozen=True):
    spec: _JobSetSpec = _JobSetSpec()


class _RuntimeSpec(_Shape, frozen=True):
    template: _JobSetTemplate = _JobSetTemplate()


class _Runtime(_Shape, frozen=True):
    spec: _RuntimeSpec


class _Patch(_Shape, frozen=True):
    manager: str
    training_runtime_spec: _RuntimeSpec = _RuntimeSpec()


class _RuntimeRef(_Shape, frozen=True):
    name: str
    kind: str


class _Trainer(_Shape, frozen=True):
    num_nodes: int
    env: list[dict[str, Any]] = []


class _TrainJob(_Shape, frozen=True):
    runtime_ref: _RuntimeRef
    trainer: _Trainer
    runtime_patches: list[_Patch] = []


class _Metadata(_Shape, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Job(_Shape, frozen=True):
    spec: dict[str, Any]
    metadata: _Metadata = _Metadata()


def problem_of_job(job: JsonObject) -> str:
    """Return what is wrong with a Job template, empty where nothing is."""
    try:
        msgspec.convert(job, _Job)
        spec = JobSpec.model_validate(job["spec"])
        msgspec.convert(spec.workload.train_job, _TrainJob)
    except msgspec.ValidationError as error:
        return str(error)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(('spec', *map(str, first['loc'])))}: {first['msg']}"
    return ""


def problem_of_runtime(runtime: JsonObject) -> str:
    """Return what is wrong with a TrainingRuntime, empty where nothing is."""
    try:
        shape = msgspec.convert(runtime, _Runtime)
    except msgspec.ValidationError as error:
        return str(error)
    names = [job.name for job in shape.spec.template.spec.replicated_jobs]
    if not names:
        return "no replicatedJob is left"
    return "" if len(set(names)) == len(names) else "two replicatedJobs have the same name"
