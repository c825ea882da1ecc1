"""What is asked of a LogProfile: everything that compiling it would find wrong, before a run depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import ValidationError

from sync_hooks.admission.rules import KindRules
from sync_hooks.admission.validation.grammar import check, dns_label
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.logprofile import EventPattern, LogProfileSpec, Patterns, TimestampFormat
from sync_hooks.measurements.profile import CompiledProfile, compile_profile

PREFIXES = {"FieldValueInvalid": "Invalid value", "FieldValueRequired": "Required value"}
ANY_LAYOUT = TimestampFormat(layout="2006-01-02T15:04:05Z07:00")


def profile_errors(spec: Value) -> Iterator[FieldError]:
    """Compile what is well formed: expressions, groups, examples, units and the layout."""
    compiled = compile_profile(_well_formed(spec))
    if not isinstance(compiled, CompiledProfile):
        yield from (
            replace(error, message=f"{PREFIXES.get(error.type, error.type)}: {error.message}") for error in compiled
        )


def _well_formed(spec: Value) -> LogProfileSpec:
    """Keep the parts that are well formed; the shape of the others is judged elsewhere."""
    known = {field.alias or name for name, field in Patterns.model_fields.items()}
    patterns = {
        name: pattern.json
        for name, pattern in spec.field("patterns").entries()
        if name in known and _parses(EventPattern, pattern)
    }
    timestamp = spec.field("timestamp")
    layout = TimestampFormat.model_validate(timestamp.json) if _parses(TimestampFormat, timestamp) else ANY_LAYOUT
    return LogProfileSpec(timestamp=layout, patterns=Patterns.model_validate(patterns))


def _parses(model: type[EventPattern] | type[TimestampFormat], value: Value) -> bool:
    try:
        model.model_validate(value.json, by_alias=True, by_name=False)
    except ValidationError:
        return False
    return True


def selection_errors(spec: Value) -> Iterator[FieldError]:
    """Check the names of what is read."""
    for name in (spec.field("containerName"), spec.field("workerStrategy", "replicatedJobName")):
        if name.text:
            yield from check(name, dns_label)


def selection_advice(spec: Value) -> Iterator[str]:
    """Point at pods chosen in vain, and at a profile that reads nothing."""
    strategy = spec.field("workerStrategy")
    for name in ("lifecyclePod", "trainingStepPod"):
        if strategy.field("type").json == "Single" and strategy.field(name).text:
            yield f"{strategy.field(name)}: has no effect with type Single"
    if spec.field("patterns").json == {}:
        yield f"{spec.field('patterns')}: is empty, so that nothing is ever measured"


RULES = {
    "LogProfile": KindRules(
        model=LogProfileSpec,
        rules={
            "patterns": (profile_errors,),
            "timestamp": (profile_errors,),
            "containerName": (selection_errors,),
            "workerStrategy": (selection_errors,),
        },
        advice={"patterns": (selection_advice,), "workerStrategy": (selection_advice,)},
    )
}
