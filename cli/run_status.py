"""A run's status as far as it is understood: a newer or broken server must not keep the rest from being shown.

Parts of another shape are left out and named. What no report reads is left out in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from cli.errors import CliError
from sync_hooks.api.limits import MOST_ITERATIONS

Run = Mapping[str, Any]
Count = Annotated[int, msgspec.Meta(ge=0)]
Iteration = Annotated[int, msgspec.Meta(ge=0, le=MOST_ITERATIONS)]


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the status; what is required in it is what reports take for given."""


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Reference(_Part, frozen=True):
    name: str


class _Excluded(msgspec.Struct, frozen=True):
    name: str
    reason: str = ""


class _Coverage(_Part, frozen=True):
    targeted: Count
    tested: Count
    excluded: Count
    inconclusive: Count


class _Progress(_Part, frozen=True):
    iteration: Iteration
    iterations: Iteration
    groups: Count
    pending: Count
    running: Count
    succeeded: Count
    failed: Count
    since: str = ""


class _Worst(_Part, frozen=True):
    group: int
    nodes: tuple[str, ...]


class _Outlier(_Part, frozen=True):
    group: int
    value: float
    nodes: tuple[str, ...]


class _Distribution(_Part, frozen=True):
    min: float
    median: float
    max: float
    worst: _Worst | None = None
    outliers: tuple[_Outlier, ...] | None = None


class _Applied(_Part, frozen=True):
    source: str
    when: str = ""
    changed: tuple[str, ...] = ()


class _Waiting(_Part, frozen=True):
    since: str
    message: str


READ: Mapping[str, Any] = {
    "appliedOverrides": tuple[_Applied, ...],
    "conditions": tuple[_Condition, ...],
    "coverage": _Coverage,
    "detectedGPUArchitecture": str,
    "detectedPlatform": str,
    "excludedNodes": tuple[_Excluded, ...],
    "failedNodesRef": _Reference,
    "progress": _Progress,
    "resolvedGpusPerNode": int,
    "results": dict[str, _Distribution],
    "succeededNodesRef": _Reference,
    "verdict": str,
    "verdictReasons": tuple[str, ...],
    "waiting": _Waiting,
}
"""The parts of a status that are read, and their shapes."""


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str
    namespace: str = "default"
    creationTimestamp: str = ""  # noqa: N815 - the API's name


def checked(run: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of the cluster if it is a run at all. Raises CliError."""
    try:
        msgspec.convert(run.get("metadata"), _Metadata)
    except msgspec.ValidationError as error:
        raise CliError(f"the cluster's answer cannot be understood: it is no WorkloadRun: metadata: {error}") from error
    return run


def status_of(run: Run) -> dict[str, Any]:
    """Return the parts of a run's status that are understood; none where there is no status yet."""
    return _read(run)[0]


def odd_parts(run: Run) -> tuple[str, ...]:
    """Say which parts of a run's status are not understood, and why."""
    return tuple(_read(run)[1])


def _read(run: Run) -> tuple[dict[str, Any], list[str]]:
    status = run.get("status")
    if not isinstance(status, Mapping):
        return {}, [] if status is None else ["status is no object and cannot be understood"]
    found: dict[str, Any] = {}
    problems: list[str] = []
    for key, shape in READ.items():
        if status.get(key) is None:
            continue
        try:
            found[key] = msgspec.to_builtins(msgspec.convert(status[key], shape))
        except msgspec.ValidationError as error:
            problems.append(f"status.{key} cannot be understood: {error}")
    return found, problems
