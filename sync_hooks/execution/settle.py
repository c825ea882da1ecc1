"""The verdict on a Job whose workload has ended: measurements awaited, thresholds judged, results never assumed.

Everything that cannot be evaluated fails validation with a reason of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus
from sync_hooks.api.conditions import COMPLETE, find
from sync_hooks.api.goodputmeasurement import GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec
from sync_hooks.api.model import Condition
from sync_hooks.api.status import read_status
from sync_hooks.measurements.thresholds import Violation, evaluate

VALID = "ThresholdsMet"


@dataclass(frozen=True, slots=True)
class Measured:
    """What the measurements came to. ``pending`` names those not final, ``unmeasured`` says why there is no value."""

    figures: Mapping[str, float] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    wrong: str = ""
    fallback: str = ""


def read_bandwidth(raw: Any) -> Measured:
    """Read what a BandwidthMeasurement found; ``raw`` is its status, None while it is not seen."""
    status = read_status(BandwidthMeasurementStatus, raw)
    complete = _complete(status.conditions)
    if complete is None:
        return Measured(pending=("bandwidth",))
    summary = status.summary
    found = {
        "busBandwidthGBps": summary.peak_bus_bandwidth_g_bps if summary else None,
        "algBandwidthGBps": summary.peak_alg_bandwidth_g_bps if summary else None,
    }
    figures = {key: value for key, value in found.items() if value is not None}
    return Measured(
        figures=figures,
        unmeasured=() if figures else (f"bandwidth: {complete.reason}: {complete.message}",),
        wrong=f"the test counted {status.wrong_count} wrong values" if status.wrong_count else "",
        fallback="NCCL fell back to sockets" if status.socket_fallback else "",
    )


def read_goodput(raw: Any) -> Measured:
    """Read what a GoodputMeasurement found; ``raw`` is its status, None while it is not seen."""
    status = read_status(GoodputMeasurementStatus, raw)
    complete = _complete(status.conditions)
    if complete is None:
        return Measured(pending=("goodput",))
    found = {
        "goodputRatio": status.result,
        "avgTFLOPsPerGPU": status.avg_tflops_per_gpu,
        "avgStepTimeSec": status.avg_step_time_sec,
    }
    figures = {key: value for key, value in found.items() if value}
    return Measured(figures=figures, unmeasured=() if figures else (f"goodput: {complete.reason}: {complete.message}",))


def _complete(conditions: list[Condition] | None) -> Condition | None:
    condition = find(conditions or (), COMPLETE)
    return condition if condition is not None and condition.status == "True" else None


def together(*parts: Measured) -> Measured:
    """Put the findings of several measurements together."""
    return Measured(
        figures={key: value for part in parts for key, value in part.figures.items()},
        pending=tuple(name for part in parts for name in part.pending),
        unmeasured=tuple(text for part in parts for text in part.unmeasured),
        wrong=" ".join(part.wrong for part in parts if part.wrong),
        fallback=" ".join(part.fallback for part in parts if part.fallback),
    )


@dataclass(frozen=True, slots=True)
class Validation:
    """ValidationFailed as it is to be set: status True or False, why, and whether the nodes are to blame for it."""

    status: str
    reason: str
    message: str
    blames_group: bool = False


def validate(spec: JobSpec, measured: Measured) -> Validation | None:
    """Judge a succeeded workload; None where nothing was required and nothing is wrong."""
    problems = [*_results(spec, measured), *map(_violation, evaluate(spec.thresholds or {}, measured.figures))]
    if problems:
        reason = problems[0][0]
        blames = any(known in BLAMING for known, _ in problems)
        return Validation("True", reason, "; ".join(text for _, text in problems), blames)
    if spec.thresholds:
        return Validation("False", VALID, f"all {len(spec.thresholds)} thresholds are met")
    return None


BLAMING = frozenset({"WrongResults", "SocketFallback", "ThresholdViolated"})


def _results(spec: JobSpec, measured: Measured) -> list[tuple[str, str]]:
    found = [("WrongResults", measured.wrong)] if measured.wrong else []
    if measured.fallback and spec.fabric_expected:
        found.append(("SocketFallback", f"{measured.fallback} on a platform with a fabric"))
    return found


def _violation(violation: Violation) -> tuple[str, str]:
    reason = "MeasurementTimeout" if violation.reason == "Unmeasured" else violation.reason
    return reason, violation.message
