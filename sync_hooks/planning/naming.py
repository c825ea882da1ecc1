"""Gives the objects that a Job brings along names of their own, wherever an object is named and nowhere else.

Only fields that hold names of objects are changed: never text that happens to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sync_hooks.api.names import shorten
from sync_hooks.api.trainer import COMPUTE_DOMAIN, TRAINING_RUNTIME, JsonObject, kind_of, name_of

LONGEST_NAME = 63  # some names become labels or host names

Names = Mapping[str, str]
"""New names by old ones."""


def names_for_job(dependencies: list[JsonObject], base: str, job: str) -> Names:
    """Return the new name of each object, and of each claim template that a ComputeDomain's controller will make.

    ``base`` is the run's shortened name: where a name starts with it, the Job's stands in its place.
    """
    old = [name for dependency in dependencies for name in (name_of(dependency), *_channels(dependency))]
    return {name: _new_name(name, base, job) for name in old}


def renamed(dependency: JsonObject, names: Names, labels: Mapping[str, str], nodes: int) -> JsonObject:
    """Return one object under its new name, with the Job's labels, pointing at the others' new names.

    A ComputeDomain gets the group's number of nodes.
    """
    metadata = dependency["metadata"]
    own = {**metadata, "name": names[metadata["name"]], "labels": {**(metadata.get("labels") or {}), **labels}}
    result = {**dependency, "metadata": own}
    if kind_of(dependency) == TRAINING_RUNTIME:
        return {**result, "spec": _in_template(dependency["spec"], names)}
    if kind_of(dependency) == COMPUTE_DOMAIN and _channels(dependency):
        spec = dependency["spec"]
        channel = {
            **spec["channel"],
            "resourceClaimTemplate": _renamed_field(spec["channel"]["resourceClaimTemplate"], names),
        }
        return {**result, "spec": {**spec, "numNodes": nodes, "channel": channel}}
    return result


def with_names(spec: JsonObject, names: Names) -> JsonObject:
    """Return a Job's spec that points at the new names: runtime, checkpoint claim, volumes and claims in patches."""
    train_job = spec["workload"]["trainJob"]
    reference = train_job["runtimeRef"]
    patches = [
        {**patch, "trainingRuntimeSpec": _in_template(patch["trainingRuntimeSpec"], names)}
        if "trainingRuntimeSpec" in patch
        else patch
        for patch in train_job.get("runtimePatches") or ()
    ]
    changed = {**train_job, "runtimeRef": _renamed_field(reference, names), "runtimePatches": patches}
    result = {**spec, "workload": {**spec["workload"], "trainJob": changed}}
    if "checkpoint" in spec:
        result["checkpoint"] = _renamed_field(spec["checkpoint"], names, "pvcName")
    return result


def _new_name(name: str, base: str, job: str) -> str:
    rest = name.removeprefix(base) if name.startswith(f"{base}-") else f"-{name}"
    return shorten(f"{job}{rest}", LONGEST_NAME)


def _channels(dependency: JsonObject) -> tuple[str, ...]:
    if kind_of(dependency) != COMPUTE_DOMAIN:
        return ()
    template = ((dependency.get("spec") or {}).get("channel") or {}).get("resourceClaimTemplate") or {}
    return (template["name"],) if isinstance(template.get("name"), str) else ()


def _renamed_field(value: JsonObject, names: Names, field: str = "name") -> JsonObject:
    return {**value, field: names[value[field]]} if value.get(field) in names else value


def _in_template(spec: JsonObject, names: Names) -> JsonObject:
    """Rename within every pod spec of a TrainingRuntime's spec, or of a patch of one."""

    def each(job: JsonObject) -> JsonObject:
        return _descend(job, ("template", "spec", "template", "spec"), lambda pod: _in_pod(pod, names))

    def all_jobs(job_set: JsonObject) -> JsonObject:
        return {**job_set, "replicatedJobs": [each(job) for job in job_set.get("replicatedJobs") or ()]}

    return _descend(spec, ("template", "spec"), all_jobs)


def _descend(value: JsonObject, path: tuple[str, ...], change: Callable[[Any], Any]) -> JsonObject:
    """Return the object with the value at a path changed; unchanged where the path ends early."""
    if path[0] not in value:
        return value
    inner = value[path[0]]
    return {**value, path[0]: _descend(inner, path[1:], change) if len(path) > 1 else change(inner)}


def _in_pod(pod: JsonObject, names: Names) -> JsonObject:
    result = dict(pod)
    if "volumes" in pod:
        result["volumes"] = [
            _descend(volume, ("persistentVolumeClaim",), lambda source: _renamed_field(source, names, "claimName"))
            for volume in pod["volumes"]
        ]
    if "resourceClaims" in pod:
        result["resourceClaims"] = [
            _renamed_field(claim, names, "resourceClaimTemplateName") for claim in pod["resourceClaims"]
        ]
    return result
