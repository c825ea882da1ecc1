"""How groups are formed and launched: parts that fit together."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid
from sync_hooks.admission.validation.durations import duration_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import INTRA_NODE, INTRA_RACK

FIXED_SCALES = {
    INTRA_NODE: "every node is tested alone",
    INTRA_RACK: "a group is what a rack holds",
}
"""Test scales whose groups are formed by the place of nodes, not by their number."""


def orchestration_errors(spec: Value) -> Iterator[FieldError]:
    """Check the time limit, and that a scale that needs certain nodes is not left to the scheduler."""
    orchestration = spec.field("orchestration")
    yield from duration_errors(orchestration.field("timeoutPerJob"))
    scale, placement = orchestration.field("testScale"), orchestration.field("placement")
    if placement.json == "Unpinned" and scale.text in FIXED_SCALES:
        yield invalid(placement, f"must be Pinned with testScale {scale.text}: {FIXED_SCALES[scale.text]}")


def orchestration_advice(spec: Value) -> Iterator[str]:
    """Point at a group size that does not count."""
    scale = spec.field("orchestration", "testScale").text
    if scale in FIXED_SCALES and ((nodes := spec.field("numNodes")).number or 0) > 1:
        yield f"{nodes}: sizes no group with testScale {scale}: {FIXED_SCALES[scale]}"


def restart_advice(spec: Value) -> Iterator[str]:
    """Point at restarts that cannot happen."""
    restarts = spec.field("checkpoint", "maxRestarts")
    if restarts.number and not spec.field("goodputMeasurement").present:
        yield f"{restarts}: has no effect without spec.goodputMeasurement, which finds checkpoints"
