"""Goodput: the time from the start of training to its end, divided without gap or overlap, and what of it was kept.

    result = (training - lost - resume - reschedule - save) / (training - reschedule)

Every attempt adds a reschedule (from the end of the one before to its start), a resume (to its first step), and where
it was interrupted the work since its last checkpoint, or since its first step where it saved none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun, StepSums
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro, span, total
from sync_hooks.measurements.steps import steady_gap

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of the formula, in seconds."""

    training: float
    lost: float = 0
    reschedule: float = 0
    resume: float = 0
    save: float = 0


def ratio(terms: Terms) -> float | None:
    """Return goodput, 0 to 1; None where there was no time in which training could have run."""
    available = terms.training - terms.reschedule
    if available <= 0:
        return None
    kept = terms.training - terms.lost - terms.resume - terms.reschedule - terms.save
    return round(min(max(kept / available, 0.0), 1.0), _DIGITS)


def close(earlier: EarlierRuns, run: GoodputRun, end: datetime, *, interrupted: bool) -> EarlierRuns:
    """Add an attempt that ended to the sums over the earlier ones."""
    start = parse_micro(earlier.training_start_time) or _training_start(run)
    before = max(filter(None, (start, parse_micro(earlier.end_time))), default=None)
    end = max(end, before or end)  # clocks of several nodes are never quite one
    began = _within(_began(run, resumed=earlier.end_time is not None), before, end)
    trained = _within(parse_micro(run.first_step_time), began, end)
    kept = _within(parse_micro(run.checkpoint_time), trained, end) if run.checkpoint_time else trained
    broken = interrupted and run.first_step is not None
    waited_since = before if earlier.training_start_time else None
    return EarlierRuns(
        training_start_time=rfc3339_micro(start),
        end_time=rfc3339_micro(end),
        interruptions=earlier.interruptions + broken,
        replaced=earlier.replaced,
        gaps=(earlier.gaps or 0) + (run.gaps or 0) or None,
        late_sec=max(earlier.late_sec or 0, run.late_sec or 0) or None,
        off_interval=(earlier.off_interval or 0) + (run.off_interval or 0) or None,
        unnumbered=(earlier.unnumbered or 0) + (run.unnumbered or 0) or None,
        lost_work_sec=total(earlier.lost_work_sec, span(kept, end) if broken else 0),
        reschedule_sec=total(earlier.reschedule_sec, span(waited_since, began)),
        resume_sec=total(earlier.resume_sec, span(began, trained) if start else 0),
        save_sec=total(earlier.save_sec, run.save_sec),
        highest_step=max(filter(None, (earlier.highest_step, run.highest_step)), default=None),
        checkpoint_step=earlier.checkpoint_step if run.checkpoint_step is None else run.checkpoint_step,
        checkpoint_time=run.checkpoint_time or earlier.checkpoint_time,
        sums=_together(earlier.sums, run),
    )


def terms_of(all_runs: EarlierRuns, until: datetime) -> Terms | None:
    """Return the terms when all attempts so far are closed; None before training began.

    ``until`` is the end of the whole: what lies between it and the end of the last attempt is waiting for another.
    """
    start = parse_micro(all_runs.training_start_time)
    if start is None:
        return None
    end = max(filter(None, (start, parse_micro(all_runs.end_time))))
    until = max(until, end)
    return Terms(
        training=total(span(start, until)),
        lost=all_runs.lost_work_sec,
        reschedule=total(all_runs.reschedule_sec, span(end, until)),
        resume=all_runs.resume_sec,
        save=all_runs.save_sec,
    )


def average_step_time(sums: StepSums) -> float | None:
    """Seconds a step: mean of the printed times, else of the time between steps."""
    if sums.timings:
        return round(sums.timing_sec / sums.timings, _DIGITS) or None
    if sums.gap_steps > 0:
        return round(sums.gap_sec / sums.gap_steps, _DIGITS) or None
    return None


def average_tflops(sums: StepSums) -> float | None:
    """TFLOP/s per GPU, mean of the printed values."""
    return round(sums.tflops / sums.tflops_lines, _DIGITS) if sums.tflops_lines else None


def _training_start(run: GoodputRun) -> datetime | None:
    return parse_micro(run.application_start_time) or parse_micro(run.first_step_time)


def _began(run: GoodputRun, *, resumed: bool) -> datetime | None:
    """When an attempt had its resources: for a first one nothing before the application's start counts."""
    first_line = parse_micro(run.first_line_time) if resumed else None
    return parse_micro(run.application_start_time) or first_line or parse_micro(run.first_step_time)


def _within(moment: datetime | None, earliest: datetime | None, end: datetime) -> datetime:
    """Keep a moment between two others; one that is not known has not come before the end."""
    return min(max(moment or end, earliest or moment or end), end)


def _together(old: StepSums, run: GoodputRun) -> StepSums:
    gap_sec, gap_steps = steady_gap(run)
    new = run.sums
    return StepSums(
        lines=old.lines + new.lines,
        timing_sec=total(old.timing_sec, new.timing_sec),
        timings=old.timings + new.timings,
        tflops=total(old.tflops, new.tflops),
        tflops_lines=old.tflops_lines + new.tflops_lines,
        gap_sec=total(old.gap_sec, gap_sec),
        gap_steps=old.gap_steps + gap_steps,
        warmup_sec=total(old.warmup_sec, new.warmup_sec),
        non_warmup_sec=total(old.non_warmup_sec, new.non_warmup_sec),
    )
