"""The little that must hold of what is planned for planning to go on, whatever overrides did.

The full check is the API server's; here only what is walked later, so that a wrong override is a message, not a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from sync_hooks.api.job import JobSpec
from sync_hooks.api.trainer import CLAIM_TEMPLATE, COMPUTE_DOMAIN, JsonObject, kind_of


class _Shape(msgspec.Struct, frozen=True, rename="camel"):
    """Unknown fields are fine; known ones have the right type."""


class _Labelled(_Shape, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


_Amounts = dict[str, str | int | float]


class _Resources(_Shape, frozen=True):
    limits: _Amounts = {}
    requests: _Amounts = {}
    claims: list[dict[str, Any]] = []


class _Named(_Shape, frozen=True):
    name: str


class _Container(_Shape, frozen=True):
    name: str
    env: list[_Named] = []
    resources: _Resources = _Resources()


class _ClaimSource(_Shape, frozen=True):
    claim_name: str = ""


class _Volume(_Shape, frozen=True):
    name: str
    persistent_volume_claim: _ClaimSource = _ClaimSource()


class _ResourceClaim(_Shape, frozen=True):
    name: str
    resource_claim_template_name: str = ""


class _Requirement(_Shape, frozen=True):
    key: str
    operator: str
    values: list[str] = []


class _Term(_Shape, frozen=True):
    match_expressions: list[_Requirement] = []
    match_fields: list[_Requirement] = []


class _Terms(_Shape, frozen=True):
    node_selector_terms: list[_Term] = []


class _NodeAffinity(_Shape, frozen=True, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}):
    required: _Terms = _Terms()


class _Affinity(_Shape, frozen=True):
    node_affinity: _NodeAffinity = _NodeAffinity()


class _PodSpec(_Shape, frozen=True):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    volumes: list[_Volume] = []
    resource_claims: list[_ResourceClaim] = []
    tolerations: list[dict[str, Any]] = []
    affinity: _Affinity = _Affinity()
    node_selector: dict[str, str] = {}
    node_name: str = ""
    resources: _Resources = _Resources()


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
    metadata: _Labelled = _Labelled()


class _Patch(_Shape, frozen=True):
    manager: str
    training_runtime_spec: _RuntimeSpec = _RuntimeSpec()


class _RuntimeRef(_Shape, frozen=True):
    name: str
    kind: str


class _Trainer(_Shape, frozen=True):
    num_nodes: int
    env: list[_Named] = []
    resources_per_node: _Resources = _Resources()


class _TrainJob(_Shape, frozen=True):
    runtime_ref: _RuntimeRef
    trainer: _Trainer
    runtime_patches: list[_Patch] = []


class _Job(_Shape, frozen=True):
    spec: dict[str, Any]
    metadata: _Labelled = _Labelled()


class _Reference(_Shape, frozen=True):
    name: str = ""


class _Channel(_Shape, frozen=True):
    resource_claim_template: _Reference = _Reference()


class _DomainSpec(_Shape, frozen=True):
    channel: _Channel = _Channel()


class _Domain(_Shape, frozen=True):
    metadata: _Labelled = _Labelled()
    spec: _DomainSpec = _DomainSpec()


class _Devices(_Shape, frozen=True):
    requests: list[_Named] = []


class _ClaimSpec(_Shape, frozen=True):
    devices: _Devices = _Devices()


class _ClaimTemplateSpec(_Shape, frozen=True):
    metadata: _Labelled = _Labelled()
    spec: _ClaimSpec = _ClaimSpec()


class _ClaimTemplate(_Shape, frozen=True):
    metadata: _Labelled = _Labelled()
    spec: _ClaimTemplateSpec = _ClaimTemplateSpec()


class _Object(_Shape, frozen=True):
    metadata: _Labelled = _Labelled()
    spec: dict[str, Any] = {}
    data: dict[str, str] = {}


_OBJECTS: Mapping[tuple[str, str], type[_Shape]] = {COMPUTE_DOMAIN: _Domain, CLAIM_TEMPLATE: _ClaimTemplate}


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


def problem_of_runtime(runtime: JsonObject, own: Sequence[str]) -> str:
    """Return what is wrong with a TrainingRuntime, empty where nothing is; ``own`` are the framework's replicatedJobs.

    One that an override adds brings its containers: without any it is one of ours under a misspelt name.
    """
    try:
        shape = msgspec.convert(runtime, _Runtime)
    except msgspec.ValidationError as error:
        return str(error)
    jobs = shape.spec.template.spec.replicated_jobs
    names = [job.name for job in jobs]
    if not names:
        return "no replicatedJob is left"
    bare = next((job.name for job in jobs if not job.template.spec.template.spec.containers), None)
    if bare is not None:
        return f"replicatedJob {bare} has no containers; this framework's are {' and '.join(own)}"
    return "" if len(set(names)) == len(names) else "two replicatedJobs have the same name"


def problem_of_object(known: JsonObject) -> str:
    """Return what is wrong with an object that a Job brings or that exists once a run, empty where nothing is."""
    try:
        msgspec.convert(known, _OBJECTS.get(kind_of(known), _Object))
    except msgspec.ValidationError as error:
        return str(error)
    return ""
