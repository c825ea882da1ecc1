"""Lays one override of the user over a draft and says what it changed. Nothing given is modified.

Order: jobTemplate, jobTemplatePatch, dependencies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sync_hooks.api.override import Override
from sync_hooks.api.trainer import (
    CLAIM_TEMPLATE,
    COMPUTE_DOMAIN,
    CONFIG_MAP,
    TRAINING_RUNTIME,
    VOLUME_CLAIM,
    JsonObject,
    kind_of,
    name_of,
)
from sync_hooks.overrides.amounts import Disagreement, agreed, agreed_in_runtime
from sync_hooks.overrides.draft import Applied, Draft, Naming, changes, with_object
from sync_hooks.overrides.jsonpatch import PatchProblem, apply_json_patch
from sync_hooks.overrides.merge import UnknownDirectiveError, merge_object, merge_patch
from sync_hooks.overrides.shape import problem_of_job, problem_of_object, problem_of_runtime

ADDABLE = (CONFIG_MAP, VOLUME_CLAIM, COMPUTE_DOMAIN, CLAIM_TEMPLATE)


@dataclass(frozen=True, slots=True)
class OverrideProblem:
    """Why an override cannot be applied, with the field that says so."""

    message: str


def apply_override(draft: Draft, override: Override, naming: Naming) -> Applied | OverrideProblem:
    """Lay one override of the user over the draft; ``orchestration`` is not looked at here."""
    result = _apply_templates(draft, override)
    if isinstance(result, OverrideProblem):
        return result
    for number, dependency in enumerate(override.dependencies or ()):
        added = _add_dependency(result.draft, dependency, naming)
        if isinstance(added, OverrideProblem):
            return OverrideProblem(f"dependencies[{number}]: {added.message}")
        result = Applied(added, (*result.changed, *changes(result.draft, added, "")))
    return result


def _apply_templates(draft: Draft, override: Override) -> Applied | OverrideProblem:
    job, changed = draft.job, []
    if override.job_template is not None:
        try:
            merged = merge_patch(job, override.job_template)
        except UnknownDirectiveError as error:
            return OverrideProblem(f"jobTemplate: {error}")
        changed += ["jobTemplate"] if merged != job else []
        job = merged
    if override.job_template_patch is not None:
        patched = apply_json_patch(job, override.job_template_patch)
        if isinstance(patched, PatchProblem):
            return OverrideProblem(f"jobTemplatePatch: {patched.message}")
        changed += ["jobTemplatePatch"] if patched != job else []
        job = patched
    problem = problem_of_job(job) if changed else ""
    if problem:
        return OverrideProblem(f"{' and '.join(changed)}: the result is no Job template: {problem}")
    try:
        job = _with_agreed_resources(draft.job, job)
    except Disagreement as error:
        return OverrideProblem(f"{' and '.join(changed)}: {error}")
    return Applied(replace(draft, job=job), tuple(changed))


def _with_agreed_resources(before: JsonObject, job: JsonObject) -> JsonObject:
    """Let limits and requests agree in trainer.resourcesPerNode. Raises Disagreement."""
    known, train_job = before["spec"]["workload"]["trainJob"], job["spec"]["workload"]["trainJob"]
    given = train_job["trainer"].get("resourcesPerNode")
    if not given:
        return job
    old = known["trainer"].get("resourcesPerNode") or {}
    trainer = {**train_job["trainer"], "resourcesPerNode": agreed(old, given, "trainer.resourcesPerNode")}
    workload = {**job["spec"]["workload"], "trainJob": {**train_job, "trainer": trainer}}
    return {**job, "spec": {**job["spec"], "workload": workload}}


def _add_dependency(draft: Draft, dependency: JsonObject, naming: Naming) -> Draft | OverrideProblem:
    metadata = dependency.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return OverrideProblem("metadata.name is required")
    if metadata.get("namespace") not in (None, "", naming.namespace):
        return OverrideProblem(f"metadata.namespace must be {naming.namespace} or absent")
    if "when" in dependency:
        return OverrideProblem("when is not supported here: the override's own when decides")
    known = {**metadata, "name": naming.known_as(metadata["name"]), "namespace": naming.namespace}
    patch = {**dependency, "metadata": known}
    if kind_of(patch) == TRAINING_RUNTIME:
        return _patch_runtime(draft, patch)
    if kind_of(patch) not in ADDABLE:
        shown = "/".join(kind_of(patch))
        return OverrideProblem(f"{shown} is not among {', '.join('/'.join(kind) for kind in ADDABLE)}")
    shape = problem_of_object(merge_object({}, patch))
    if shape:
        return OverrideProblem(f"this is no {kind_of(patch)[1]}: {shape}")
    return replace(draft, objects=with_object(draft.objects, patch, naming.labels))


def _patch_runtime(draft: Draft, patch: JsonObject) -> Draft | OverrideProblem:
    if name_of(patch) != name_of(draft.runtime):
        return OverrideProblem(
            f"TrainingRuntime {name_of(patch)} is not this run's; {name_of(draft.runtime)} can be changed"
        )
    runtime = merge_object(draft.runtime, patch)
    own = [job["name"] for job in draft.runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    problem = problem_of_runtime(runtime, own)
    if problem:
        return OverrideProblem(f"the result is no TrainingRuntime: {problem}")
    try:
        return replace(draft, runtime=agreed_in_runtime(draft.runtime, runtime))
    except Disagreement as error:
        return OverrideProblem(str(error))
