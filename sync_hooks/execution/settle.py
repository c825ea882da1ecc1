"""The verdict on a Job whose workload has ended: measurements awaited, thresholds judged, results never assumed.

Everything that cannot be evaluated fails validation with a reason of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus
from sync_hooks.api.conditions import COMPLETE, MEASURING, find
from sync_hooks.api.goodputmeasurement import GoodputMeasurementStatus
from sync_hooks.api.job import JobSpec
from sync_hooks.api.model import Condition
from sync_hooks.api.status import read_status
from sync_hooks.execution.network import network_of
from sync_hooks.execution.planned import planned
from sync_hooks.measurements.answering import JOB_SUCCEEDED
from sync_hooks.measurements.ranks import count_note, ranks_apart
from sync_hooks.measurements.thresholds import FIGURES, Violation, evaluate
from sync_hooks.report.iteration import RANKS_APART

VALID = "ThresholdsMet"


@dataclass(frozen=True, slots=True)
class Measured:
    """What the measurements came to.

    ``pending`` names those not final, ``unmeasured`` says why there is no value yet, or why those that there are may
    not stand for the whole test: then ``doubtful`` has their keys. ``apart`` says that it was another test altogether.
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    doubtful: frozenset[str] = frozenset()
    wrong: str = ""
    apart: str = ""
    fallback: str = ""
    remarks: tuple[str, ...] = ()


def read_bandwidth(raw: Any, spec: JobSpec) -> Measured:
    """Read what a BandwidthMeasurement found of a Job; ``raw`` is its status, None while it is not seen."""
    status = read_status(BandwidthMeasurementStatus, raw)
    complete = _complete(status.conditions)
    if complete is None:
        return Measured(pending=("bandwidth",), unmeasured=_held_up("bandwidth", status.conditions))
    summary = status.summary
    found = {
        "busBandwidthGBps": summary.peak_bus_bandwidth_g_bps if summary else None,
        "algBandwidthGBps": summary.peak_alg_bandwidth_g_bps if summary else None,
    }
    figures = {key: value for key, value in found.items() if value is not None}
    job = planned(spec)
    ranks = ranks_apart(status, job) if figures else None
    doubts = [*(status.doubts or ()), *([ranks.message] if ranks and not ranks.certain else [])]
    known = {*doubts, count_note(status.ranks, job.ranks) if ranks else ""}
    notes = [f"bandwidth: {text}" for text in status.notes or () if text not in known]
    if not figures:
        doubts = [f"{complete.reason}: {complete.message}"]
    network = network_of(status, spec, job.nodes)
    unseen = network.unmeasured if figures and not ranks else ""
    return Measured(
        figures=figures,
        unmeasured=(*(f"bandwidth: {text}" for text in doubts), *([unseen] if unseen else [])),
        doubtful=frozenset(figures if doubts or ranks else ()),
        wrong=f"the test counted {status.wrong_count} wrong values" if status.wrong_count else "",
        apart=ranks.message if ranks and ranks.certain else "",
        fallback=network.fallback,
        remarks=(*(notes if figures else ()), *([network.remark] if network.remark else [])),
    )


def read_goodput(raw: Any) -> Measured:
    """Read what a GoodputMeasurement found; ``raw`` is its status, None while it is not seen."""
    status = read_status(GoodputMeasurementStatus, raw)
    complete = _complete(status.conditions)
    if complete is None:
        return Measured(pending=("goodput",), unmeasured=_held_up("goodput", status.conditions))
    found = {
        "goodputRatio": status.result,
        "avgTFLOPsPerGPU": status.avg_tflops_per_gpu,
        "avgStepTimeSec": status.avg_step_time_sec,
    }
    figures = {key: value for key, value in found.items() if value is not None}
    missing = f"{complete.reason}: {complete.message}"
    if figures:
        missing = f"no ratio, for there was no time in which training could have run; {complete.message}"
    doubts = (status.doubts or []) if figures else []
    texts = [*([] if status.result is not None else [missing]), *doubts]
    notes = (status.notes or []) if figures and complete.reason == JOB_SUCCEEDED else []
    return Measured(
        figures=figures,
        unmeasured=tuple(f"goodput: {text}" for text in texts),
        doubtful=frozenset(figures if doubts else ()),
        remarks=tuple(f"goodput: {text}" for text in notes),
    )


def _held_up(name: str, conditions: list[Condition] | None) -> tuple[str, ...]:
    """Say what keeps a measurement from its end, in its own words."""
    found = find(conditions or (), MEASURING)
    if found is None or found.status == "True":
        return ()
    return (f"{name}: {found.reason}: {found.message}",)


def _complete(conditions: list[Condition] | None) -> Condition | None:
    condition = find(conditions or (), COMPLETE)
    return condition if condition is not None and condition.status == "True" else None


def together(*parts: Measured) -> Measured:
    """Put the findings of several measurements together."""
    return Measured(
        figures={key: value for part in parts for key, value in part.figures.items()},
        pending=tuple(name for part in parts for name in part.pending),
        unmeasured=tuple(text for part in parts for text in part.unmeasured),
        doubtful=frozenset().union(*(part.doubtful for part in parts)),
        wrong=" ".join(part.wrong for part in parts if part.wrong),
        apart=" ".join(part.apart for part in parts if part.apart),
        fallback=" ".join(part.fallback for part in parts if part.fallback),
        remarks=tuple(text for part in parts for text in part.remarks),
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
    violations = evaluate(spec.thresholds or {}, measured.figures)
    problems = [*_results(measured), *_violations(violations, measured)]
    if problems:
        reason = problems[0][0]
        blames = any(known in BLAMING for known, _ in problems)
        return Validation("True", reason, "; ".join(text for _, text in problems), blames)
    if spec.thresholds:
        return Validation("False", VALID, f"all {len(spec.thresholds)} thresholds are met")
    return None


BLAMING = frozenset({"WrongResults", "SocketFallback", "ThresholdViolated"})


def _results(measured: Measured) -> list[tuple[str, str]]:
    found = [(RANKS_APART, measured.apart)] if measured.apart else []
    if measured.wrong:
        found.append(("WrongResults", measured.wrong))
    if measured.fallback:
        found.append(("SocketFallback", f"{measured.fallback} on a platform with a fabric"))
    return found


def _violations(violations: Sequence[Violation], measured: Measured) -> Iterator[tuple[str, str]]:
    """Give each violation its reason; why nothing, or not all, was measured is told first, and once."""
    told: set[str] = set()
    for violation in violations:
        reason, message = _violation(violation, measured)
        causes = [] if reason not in UNMEASURED else [text for text in _causes(violation, measured) if text not in told]
        told.update(causes)
        yield reason, "; ".join((*causes, message))


UNMEASURED = frozenset({"MeasurementIncomplete", "MeasurementTimeout"})


def _causes(violation: Violation, measured: Measured) -> Iterator[str]:
    """Go through what is missing of the measurement that brings the figure of a threshold."""
    measurement = FIGURES[violation.key].spec_field.removesuffix("Measurement")
    return (text for text in measured.unmeasured if text.startswith(f"{measurement}: "))


def _violation(violation: Violation, measured: Measured) -> tuple[str, str]:
    """Give a violation its reason; nobody is to blame for a figure that may not be the whole one."""
    if violation.reason == "ThresholdViolated" and violation.key in measured.doubtful:
        return "MeasurementIncomplete", f"{violation.message}, by a measurement that is not whole"
    reason = "MeasurementTimeout" if violation.reason == "Unmeasured" else violation.reason
    return reason, violation.message
