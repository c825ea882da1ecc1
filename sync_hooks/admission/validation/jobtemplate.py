"""Patches of the Job template: fields that a Job has, down to those of its TrainJob, and what is asked of a Job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sync_hooks.admission.causes import invalid, unknown, wrong_type
from sync_hooks.admission.official.shape import official_errors
from sync_hooks.admission.rules import kind_rules
from sync_hooks.admission.shape import shape_errors
from sync_hooks.admission.validation.grammar import annotation_key, label_key, label_value
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.model import API_VERSION

TOP_FIELDS = ("metadata", "spec")
KEYS = {"annotations": annotation_key, "labels": label_key}
METADATA_FIELDS = tuple(KEYS)
MEASUREMENTS = ("bandwidthMeasurement", "goodputMeasurement")
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
DEEPEST_RULE = 4  # levels of a Job's spec that its rules look at, those of the TrainJob apart
TRAIN_JOB = "trainer.TrainJobSpec"


def job_template_errors(template: Value, around: Mapping[str, Any], *, part: bool = False) -> Iterator[FieldError]:
    """Check a strategic merge patch: nothing is required in one, and null deletes.

    Of a TrainJob it may lay down only a ``part``, down to one field of an entry of a list.

    ``around`` has the measurements that the patched Job may have from elsewhere, for thresholds on what they measure.
    """
    from sync_hooks.api.job import JobSpec  # few objects patch the Job template

    yield from (unknown(template, name, TOP_FIELDS) for name in template.fields if not _is_known(name, TOP_FIELDS))
    yield from _metadata_errors(template.field("metadata"))
    spec = template.field("spec")
    if spec.present:
        yield from shape_errors(JobSpec, spec, patch=True)
    train_job = spec.field("workload", "trainJob")
    if isinstance(train_job.json, dict):
        yield from official_errors(train_job, TRAIN_JOB, patch=True, part=part)
    yield from _job_errors(spec, around)


def _job_errors(spec: Value, around: Mapping[str, Any]) -> Iterator[FieldError]:
    """Ask of a part of a Job what is asked of a whole one; else its own admission would refuse each Job of the run."""
    rules = kind_rules(API_VERSION, "Job")
    given = _without_directives(spec.json)
    if rules is None or not isinstance(given, dict):
        return
    whole = Value({**around, **given}, spec.path)
    for field in given:
        if field != "workload":  # a part of it is judged above
            for rule in rules.rules.get(field, ()):
                yield from rule(whole)


def _without_directives(json: Any, depth: int = DEEPEST_RULE) -> Any:
    """Leave out what only directs a strategic merge, and what is deleted; lists are left as they are."""
    if not isinstance(json, dict) or not depth:
        return json
    return {
        name: _without_directives(part, depth - 1)
        for name, part in json.items()
        if part is not None and not name.startswith("$")
    }


def train_job_advice(template: Value, where: str) -> Iterator[str]:
    """Point at what makes a TrainJob wait for somebody who may never come."""
    train_job = template.field("spec", "workload", "trainJob")
    if train_job.field("suspend").json is True:
        yield f"{where}: a suspended TrainJob waits until somebody, such as Kueue, resumes it"
    if train_job.field("managedBy").json == MULTIKUEUE:
        yield f"{where}: another cluster runs the TrainJob, on nodes that are not seen here"


def _metadata_errors(metadata: Value) -> Iterator[FieldError]:
    if metadata.present and not isinstance(metadata.json, dict):
        yield wrong_type(metadata, "an object")
    yield from (unknown(metadata, n, METADATA_FIELDS) for n in metadata.fields if not _is_known(n, METADATA_FIELDS))
    for name in METADATA_FIELDS:
        for key, value in metadata.field(name).entries():
            if not key.startswith("$") and (sentence := KEYS[name](key)):
                yield invalid(Value(key, value.path), sentence)
            elif value.present and not isinstance(value.json, str):
                yield wrong_type(value, "a string")
            elif name == "labels" and (sentence := label_value(value.text)):
                yield invalid(value, sentence)


def _is_known(name: str, known: tuple[str, ...]) -> bool:
    return name in known or name.startswith("$")  # directives of a strategic merge
