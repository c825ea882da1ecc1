"""What happened, by the lines of a training log: the application's start, steps, saves and restores, in order.

A line is claimed by one kind, tried in the order of `CLAIMS`: a save's end before its beginning, so that one line
cannot be both. Only the start claims nothing: a framework's banner may match most of its lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from sync_hooks.measurements.clock import event_time
from sync_hooks.measurements.pattern import Hit, hits, matches
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.stamp import moment_of, stamp_of

START = "application_start"
STEP = "training_step"
DONE = "checkpoint_done"
SAVE = "checkpoint_save"
RESTORE = "checkpoint_restore"
LOADED = "checkpoint_loaded"

CLAIMS = (STEP, DONE, SAVE, RESTORE, LOADED)

_MOST_START_TRIES = 1000  # matches without a usable time; more would only cost time
_LONGEST_MICROSECONDS = 10**13  # about four months; a longer step or save is a misread number


class Event(NamedTuple):
    """One line that means something. ``kind`` is the pattern's field name."""

    kind: str
    hit: Hit


class StepLine(NamedTuple):
    """A training step as printed. ``timing`` is the time of one step in microseconds, ``tflops`` in millionths."""

    step: int
    timing: int | None
    tflops: int | None
    marked_warmup: bool


def find_events(profile: CompiledProfile, lines: bytes, *, starts: int) -> list[Event]:
    """Find every event in lines that `page.readable` made readable, of starts the first ones only."""
    claimed: set[int] = set()
    events: list[Event] = []
    for kind in CLAIMS:
        found = [event for event in _of_kind(profile, kind, lines) if event.hit.start not in claimed]
        claimed.update(event.hit.start for event in found)
        events += found
    events += find_starts(profile, lines, most=starts)
    return sorted(events, key=lambda event: (event.hit.start, event.kind != START))


def time_of(event: Event, profile: CompiledProfile) -> datetime | None:
    """Settle when an event happened; None where neither the line nor the kubelet says."""
    stamp = moment_of(stamp_of(event.hit.lines, event.hit.start))
    text = event.hit.text("timestamp")
    captured = profile.layout(text.decode(errors="replace"), stamp) if text else None
    return event_time(captured, stamp)


def step_line(event: Event, profile: CompiledProfile) -> StepLine | None:
    """Read a training step; None where its number cannot be read, or where it stands for fewer steps than others."""
    step = step_number(event)
    if step is None or step % profile.log_interval:
        return None
    marker = profile.patterns.get("warmup_step")
    timing = duration_of(event, profile, "stepTiming") or duration_of(event, profile, "elapsedTime")
    tflops = event.hit.number("tflops")
    return StepLine(
        step=step,
        timing=timing or None,
        tflops=round(tflops * 1e6) if tflops and 0 < tflops < 1e6 else None,
        marked_warmup=marker is not None and matches(marker, event.hit.line()),
    )


def step_number(event: Event) -> int | None:
    """Read the number of a training step, above 0: a step 0 is printed before any was made."""
    step = event.hit.integer("globalStep") or event.hit.integer("iteration")
    return step if step and step > 0 else None


def duration_of(event: Event, profile: CompiledProfile, group: str) -> int | None:
    """Read a captured duration in microseconds."""
    value = event.hit.number(group) if group in event.hit.groups else None
    if value is None or value < 0:
        return None
    micros = value * profile.units[event.kind, group]
    return round(micros) if micros < _LONGEST_MICROSECONDS else None


def find_starts(
    profile: CompiledProfile, lines: bytes, position: int = 0, size: int | None = None, *, most: int = 1
) -> list[Event]:
    """Find the first starts whose time is known, in all lines or between two beginnings of lines."""
    if most < 1:
        return []
    tries = islice(_of_kind(profile, START, lines, position, size), _MOST_START_TRIES)
    return list(islice((event for event in tries if time_of(event, profile) is not None), most))


def _of_kind(
    profile: CompiledProfile, kind: str, lines: bytes, position: int = 0, size: int | None = None
) -> Iterator[Event]:
    pattern = profile.patterns.get(kind)
    if pattern is not None:
        for hit in hits(pattern, lines, position, size):
            yield Event(kind, hit)
