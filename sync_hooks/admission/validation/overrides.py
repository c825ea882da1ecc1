"""Overrides: conditions that can hold, and changes that can be made."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sync_hooks.admission.causes import forbidden, invalid
from sync_hooks.admission.validation.dependencies import dependency_errors
from sync_hooks.admission.validation.directives import literal_errors, merge_errors
from sync_hooks.admission.validation.durations import duration_errors
from sync_hooks.admission.validation.grammar import check, label_key
from sync_hooks.admission.validation.jobtemplate import MEASUREMENTS, job_template_errors, train_job_advice
from sync_hooks.admission.validation.jsonpatch import json_patch_errors, patched
from sync_hooks.admission.validation.pods import changed_pod_errors
from sync_hooks.admission.validation.reserved import reserved_variables
from sync_hooks.admission.validation.target import selection_errors
from sync_hooks.admission.validation.when import when_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.names import runtime_name
from sync_hooks.api.trainer import TRAINING_RUNTIME


def override_errors(spec: Value) -> Iterator[FieldError]:
    """Check every override."""
    measured = _measured(spec)
    for override in spec.field("overrides").elements():
        yield from when_errors(override.field("when"))
        if isinstance(override.field("jobTemplate").json, dict):
            yield from job_template_errors(override.field("jobTemplate"), measured)
            yield from merge_errors(override.field("jobTemplate"))
        yield from json_patch_errors(override.field("jobTemplatePatch"), measured)
        for dependency in override.field("dependencies").elements():
            if isinstance(dependency.json, dict):
                yield from dependency_errors(dependency)
                yield from literal_errors(dependency)
        yield from _orchestration_errors(override.field("orchestration"))
        yield from _variable_errors(override, reserved_variables(spec))
    yield from changed_pod_errors(spec)


def _variable_errors(override: Value, taken: Collection[str]) -> Iterator[FieldError]:
    """Check the variables that templates and patches give to the workload."""
    for name in _variables(override.field("jobTemplate")):
        if name.text in taken:
            yield forbidden(name, f"{name.text} is set by Kubeflow Trainer")
    for template, value in patched(override.field("jobTemplatePatch")):
        for name in _variables(template):
            if name.text in taken:
                yield forbidden(value, f"{name.text} is set by Kubeflow Trainer")


def _variables(template: Value) -> Iterator[Value]:
    for variable in template.field("spec", "workload", "trainJob", "trainer", "env").elements():
        yield variable.field("name")


def _measured(spec: Value) -> dict[str, Any]:
    """Return the measurements that a Job of the run may have, whichever overrides match it."""
    overrides = list(spec.field("overrides").elements())
    any_ = any(override.field("jobTemplatePatch").present for override in overrides)
    parts = [spec, *(override.field("jobTemplate", "spec") for override in overrides)]
    return {name: {} for name in MEASUREMENTS if any_ or any(part.field(name).present for part in parts)}


def _orchestration_errors(orchestration: Value) -> Iterator[FieldError]:
    yield from selection_errors(orchestration.field("target"))
    key = orchestration.field("topology", "topologyKey")
    if key.text:
        yield from check(key, label_key)
    yield from duration_errors(orchestration.field("execution", "timeoutPerJob"))


def belonging_errors(root: Value) -> Iterator[FieldError]:
    """Check that what overrides name is the run's own: its TrainingRuntime, its namespace."""
    run, namespace = root.field("metadata", "name").text, root.field("metadata", "namespace").text
    for override in root.field("spec", "overrides").elements():
        for dependency in override.field("dependencies").elements():
            name, place = dependency.field("metadata", "name"), dependency.field("metadata", "namespace")
            if place.text and namespace and place.text != namespace:
                yield invalid(place, f"must be {namespace}, the run's own, or left out")
            own = {f"{run}-runtime", runtime_name(run)}
            if run and name.text and _kind(dependency) == TRAINING_RUNTIME and name.text not in own:
                yield invalid(name, f"must be {run}-runtime: only the run's own TrainingRuntime can be changed")


def _kind(dependency: Value) -> tuple[str, str]:
    return dependency.field("apiVersion").text, dependency.field("kind").text


def override_advice(spec: Value) -> Iterator[str]:
    """Point at overrides that change nothing, and at those that make every TrainJob wait."""
    for override in spec.field("overrides").elements():
        template = override.field("jobTemplate")
        yield from train_job_advice(template, str(template))
        for template, value in patched(override.field("jobTemplatePatch")):
            yield from train_job_advice(template, str(value))
        if isinstance(override.json, dict) and not any(override.json[name] for name in override.json if name != "when"):
            yield f"{override}: changes nothing"
