"""Takes out of objects what must not be there. Copies what it changes."""

from __future__ import annotations

from typing import Any

ENDS = frozenset({"ttlSecondsAfterFinished", "activeDeadlineSeconds"})
"""Fields that end or remove a workload behind our back: a failed TrainJob would run again, a log would be gone."""

_FREE = frozenset({"data", "binaryData", "labels", "annotations", "env", "args", "command"})
"""Fields whose keys are the user's."""


def without_nulls(value: Any) -> Any:
    """Return the value without keys whose value is null, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [without_nulls(part) for part in value]
    return value


def endless(value: Any) -> Any:
    """Return the value without fields that would end or remove a workload by themselves, at any depth."""
    if isinstance(value, dict):
        return {key: part if key in _FREE else endless(part) for key, part in value.items() if key not in ENDS}
    if isinstance(value, list):
        return [endless(part) for part in value]
    return value
