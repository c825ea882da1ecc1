"""A LogProfile made ready to use: expressions, layout and units checked and compiled, or every error with its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from sync_hooks.api.errors import ErrorType, FieldError, cut, field_path
from sync_hooks.api.logprofile import EventPattern, LogProfileSpec, Patterns, WorkerStrategy
from sync_hooks.measurements.layout import Layout, compile_layout
from sync_hooks.measurements.page import readable
from sync_hooks.measurements.pattern import Pattern, compile_pattern, matches

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
"""Microseconds in each unit."""

SINGLE = WorkerStrategy(type="Single")

_DURATIONS = ("elapsedTime", "saveDuration", "stepTiming")  # the groups that have a unit
_REQUIRED: Mapping[str, tuple[tuple[str, ...], ...]] = {  # of each alternative, one group must be named
    "training_step": (("globalStep", "iteration"),),
    "bandwidth_result": (("size",), ("algBW",), ("busBW",)),
    "network_transport": (("transport",),),
}


@dataclass(frozen=True, slots=True)
class CompiledProfile:
    """A profile ready to use. ``patterns`` is keyed by field name, ``units`` by field and group name, microseconds."""

    layout: Layout
    patterns: Mapping[str, Pattern]
    units: Mapping[tuple[str, str], int]
    strategy: WorkerStrategy
    container: str | None
    warmup_steps: int
    log_interval: int


def read_profile(spec: Mapping[str, Any]) -> CompiledProfile | tuple[FieldError, ...]:
    """Parse and compile the spec of a LogProfile as the API holds it; errors name fields from ``spec`` on."""
    try:
        model = LogProfileSpec.model_validate(dict(spec))
    except ValidationError as error:
        return tuple(
            FieldError(field_path(("spec", *problem["loc"])), _cause(problem["type"]), problem["msg"])
            for problem in error.errors()
        )
    return compile_profile(model)


@lru_cache(maxsize=64)  # profiles are few and compiled on every sample otherwise
def _compiled(text: str) -> CompiledProfile | tuple[FieldError, ...]:
    spec = LogProfileSpec.model_validate_json(text)
    layout = compile_layout(spec.timestamp.layout)
    errors: list[FieldError] = []
    if isinstance(layout, str):
        errors.append(_invalid(("timestamp", "layout"), f"{spec.timestamp.layout!r} {layout}"))
    compiled: dict[str, Pattern] = {}
    for name, pattern in _present(spec).items():
        result = _check(name, pattern)
        if isinstance(result, Pattern):
            compiled[name] = result
        else:
            errors += result
    if errors or isinstance(layout, str):
        return tuple(errors)
    return CompiledProfile(
        layout=layout,
        patterns=compiled,
        units=_units(_present(spec)),
        strategy=spec.worker_strategy or SINGLE,
        container=spec.container_name or None,
        warmup_steps=spec.warmup_steps or 0,
        log_interval=spec.log_interval or 1,
    )


def compile_profile(spec: LogProfileSpec) -> CompiledProfile | tuple[FieldError, ...]:
    """Compile a profile, or return everything that is wrong with it."""
    return _compiled(spec.model_dump_json(by_alias=True, exclude_none=True))


def field_name(pattern: str) -> str:
    """Return the API's name of a pattern: ``bandwidthResult`` for bandwidth_result."""
    return Patterns.model_fields[pattern].alias or pattern


def _present(spec: LogProfileSpec) -> dict[str, EventPattern]:
    patterns = ((name, getattr(spec.patterns, name)) for name in type(spec.patterns).model_fields)
    return {name: pattern for name, pattern in patterns if pattern is not None}


def _check(name: str, pattern: EventPattern) -> Pattern | list[FieldError]:
    compiled = compile_pattern(pattern.regex)
    if isinstance(compiled, str):
        return [_invalid(_path(name, "regex"), f"{cut(pattern.regex)!r} is not usable: {compiled}")]
    errors = [*_missing_groups(name, compiled), *_unit_errors(name, pattern, compiled)]
    example = readable(pattern.example.encode()) if pattern.example is not None else None
    if example is not None and not matches(compiled, example):
        errors.append(_invalid(_path(name, "example"), f"{cut(pattern.example)!r} is not matched by the expression"))
    return errors or compiled


def _missing_groups(name: str, pattern: Pattern) -> list[FieldError]:
    missing = [names for names in _REQUIRED.get(name, ()) if not pattern.groups.keys() & set(names)]
    return [
        FieldError(
            field_path(("spec", *_path(name, "regex"))),
            "FieldValueRequired",
            f"names no group {' or '.join(f'(?P<{group}>...)' for group in names)}",
        )
        for names in missing
    ]


def _unit_errors(name: str, pattern: EventPattern, compiled: Pattern) -> list[FieldError]:
    known = [group for group in _DURATIONS if group in compiled.groups]
    return [
        _invalid(
            _path(name, "units"), f"{group!r} is no captured duration; durations here: {', '.join(known) or 'none'}"
        )
        for group in sorted(pattern.units or {})
        if group not in known
    ]


def _units(patterns: Mapping[str, EventPattern]) -> dict[tuple[str, str], int]:
    return {
        (name, group): MICROSECONDS[(pattern.units or {}).get(group, "s")]
        for name, pattern in patterns.items()
        for group in _DURATIONS
    }


def _path(name: str, field: str) -> tuple[str, ...]:
    return ("patterns", field_name(name), field)


def _invalid(path: tuple[str, ...], message: str) -> FieldError:
    return FieldError(field_path(("spec", *path)), "FieldValueInvalid", message)


def _cause(type_: str) -> ErrorType:
    return "FieldValueRequired" if type_ == "missing" else "FieldValueInvalid"
