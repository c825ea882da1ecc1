"""An attempt's training steps, from the events of new lines. However a log is cut up, the state ends the same.

Warm-up steps count for nothing but their own time. The rest are steady steps: their printed times and TFLOP/s make the
averages, and the time between the first and the last of them makes do where no times are printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sync_hooks.api.goodputrun import GoodputRun, StepSums
from sync_hooks.measurements.anew import Signs, find_start, is_shown, note, pass_step
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro, span, total
from sync_hooks.measurements.events import RESTORE, START, STEP, Event, StepLine, step_line, step_number, time_of
from sync_hooks.measurements.profile import CompiledProfile

_MICRO = 1e6


@dataclass(slots=True)
class _Fold:
    """Plain numbers of one fold, because a log has many steps; durations and TFLOP/s in millionths."""

    base: int | None
    last: int | None
    highest: int
    lines: int = 0
    timing: int = 0
    timings: int = 0
    tflops: int = 0
    tflops_lines: int = 0
    warmup: int = 0
    steady: int = 0
    off_interval: int = 0
    unnumbered: int = 0


@dataclass(slots=True)
class _Stretch:
    """Steady steps that follow each other upwards; going back to a checkpoint begins another stretch."""

    first: int | None
    first_time: datetime | None
    last: int | None
    last_time: datetime | Event | None  # an event's time is worked out when it is needed
    gap_sec: float = 0
    gap_steps: int = 0


def take_steps(
    run: GoodputRun, events: Sequence[Event], begin: int, profile: CompiledProfile, signs: Signs
) -> tuple[GoodputRun, int]:
    """Move an attempt on by training steps, from one event on; a restore among them begins a new warm-up.

    Returns where the next events are: behind all of them, or at the first step after the workload has begun anew inside
    its container, which ``signs`` tell of.
    """
    fold = _Fold(run.warmup_base_step, run.last_step, run.highest_step or 0)
    stretch = _Stretch(
        run.steady_step, parse_micro(run.steady_step_time), run.last_steady_step, parse_micro(run.last_step_time)
    )
    first: tuple[int, str | None] | None = None
    for index in range(begin, len(events)):
        event = events[index]
        line = _line(fold, event, profile, signs)
        if line is None:
            continue
        goes_back = fold.last is not None and line.step < fold.last
        if (goes_back or signs.time) and is_shown(signs, event, goes_back=goes_back):
            return _state(_skipped(run, fold), fold, stretch, profile, first), index
        if fold.last is None:
            first = line.step, rfc3339_micro(time_of(event, profile))
        pass_step(signs, event)
        if not _count(fold, line, profile):
            _lengthen(stretch, line.step, event, profile)
    if fold.last is not None:
        find_start(signs)
    run = _skipped(run, fold).model_copy(update={"anew": signs.noted()})
    return _state(run, fold, stretch, profile, first), len(events)


def _line(fold: _Fold, event: Event, profile: CompiledProfile, signs: Signs) -> StepLine | None:
    """Read an event as a step that counts; note it where it is a start, or the loading of a checkpoint."""
    if event.kind in (START, RESTORE) and fold.last is not None:
        note(signs, event)
    if event.kind == RESTORE:
        fold.base = None
    if event.kind != STEP:
        return None
    line = step_line(event, profile)
    if line is None:
        numbered = step_number(event) is not None
        fold.off_interval, fold.unnumbered = fold.off_interval + numbered, fold.unnumbered + (not numbered)
    elif line.step == fold.last and fold.base is not None:  # printed twice, by two ranks
        return None
    return line


def steady_gap(run: GoodputRun) -> tuple[float, int]:
    """Return the seconds and the steps between first and last steady steps."""
    open_sec = span(parse_micro(run.steady_step_time), parse_micro(run.last_step_time))
    open_steps = (run.last_steady_step or 0) - (run.steady_step or 0)
    return total(run.sums.gap_sec, open_sec), run.sums.gap_steps + open_steps


def _count(fold: _Fold, line: StepLine, profile: CompiledProfile) -> bool:
    """Add one step to the sums and tell whether it is warm-up."""
    if fold.base is None:
        fold.base = line.step
    warmup = line.marked_warmup or line.step - fold.base < profile.warmup_steps
    steps = line.step - fold.last if fold.last is not None and line.step > fold.last else profile.log_interval
    fold.last, fold.highest = line.step, max(line.step, fold.highest)
    if warmup:
        fold.warmup += (line.timing or 0) * steps
        return True
    fold.lines += 1
    if line.timing:
        fold.timing, fold.timings, fold.steady = (
            fold.timing + line.timing,
            fold.timings + 1,
            fold.steady + line.timing * steps,
        )
    if line.tflops:
        fold.tflops, fold.tflops_lines = fold.tflops + line.tflops, fold.tflops_lines + 1
    return False


def _lengthen(stretch: _Stretch, step: int, event: Event, profile: CompiledProfile) -> None:
    if stretch.last is None or step < stretch.last:
        _close(stretch, profile)
        stretch.first, stretch.first_time = step, time_of(event, profile)
    stretch.last, stretch.last_time = step, event


def _close(stretch: _Stretch, profile: CompiledProfile) -> None:
    if stretch.first is not None and stretch.last is not None:
        stretch.gap_sec = total(stretch.gap_sec, span(stretch.first_time, _settled(stretch.last_time, profile)))
        stretch.gap_steps += stretch.last - stretch.first


def _settled(time: datetime | Event | None, profile: CompiledProfile) -> datetime | None:
    return time_of(time, profile) if isinstance(time, Event) else time


def _skipped(run: GoodputRun, fold: _Fold) -> GoodputRun:
    """Add lines of steps that do not count."""
    if not (fold.off_interval or fold.unnumbered):
        return run
    off, unnumbered = (run.off_interval or 0) + fold.off_interval, (run.unnumbered or 0) + fold.unnumbered
    return run.model_copy(update={"off_interval": off or None, "unnumbered": unnumbered or None})


def _state(
    run: GoodputRun, fold: _Fold, stretch: _Stretch, profile: CompiledProfile, first: tuple[int, str | None] | None
) -> GoodputRun:
    if fold.last is None:
        return run
    if first is not None:
        run = run.model_copy(update={"first_step": first[0], "first_step_time": first[1]})
    return run.model_copy(
        update={
            "warmup_base_step": fold.base,
            "last_step": fold.last,
            "highest_step": fold.highest,
            "steady_step": stretch.first,
            "steady_step_time": rfc3339_micro(stretch.first_time),
            "last_steady_step": stretch.last,
            "last_step_time": rfc3339_micro(_settled(stretch.last_time, profile)),
            "sums": _sums(run.sums, fold, stretch),
        }
    )


def _sums(old: StepSums, fold: _Fold, stretch: _Stretch) -> StepSums:
    return StepSums(
        lines=old.lines + fold.lines,
        timing_sec=total(old.timing_sec, fold.timing / _MICRO),
        timings=old.timings + fold.timings,
        tflops=total(old.tflops, fold.tflops / _MICRO),
        tflops_lines=old.tflops_lines + fold.tflops_lines,
        gap_sec=total(old.gap_sec, stretch.gap_sec),
        gap_steps=old.gap_steps + stretch.gap_steps,
        warmup_sec=total(old.warmup_sec, fold.warmup / _MICRO),
        non_warmup_sec=total(old.non_warmup_sec, fold.steady / _MICRO),
    )
