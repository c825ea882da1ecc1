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


def find_events(profile: CompiledProfile, lines: bytes, *, started: bool) -> list[Event]:
    """Find every event in lines that `page.readable` made readable; a start only unless ``started``."""
    claimed: set[int] = set()
    events: list[Event] = []
    for kind in CLAIMS:
        found = [event for event in _of_kind(profile, kind, lines) if event.hit.start not in claimed]
        claimed.update(event.hit.start for event in found)
        events += found
    if not started:
        events += _start(profile, lines)
    return sorted(events, key=lambda event: (event.hit.start, event.kind != START))


def time_of(event: Event, profile: CompiledProfile) -> datetime | None:
    """Settle when an event happened; None where neither the line nor the kubelet says."""
    stamp = moment_of(stamp_of(event.hit.lines, event.hit.start))
    text = event.hit.text("timestamp")
    captured = profile.layout(text.decode(errors="replace"), stamp) if text else None
    return event_time(captured, stamp)


def step_line(event: Event, profile: CompiledProfile) -> StepLine | None:
    """Read a training step; None where its number cannot be read, or where it stands for fewer steps than others."""
    step = event.hit.integer("globalStep") or event.hit.integer("iteration")
    if not step or step < 0 or step % profile.log_interval:  # a step 0 is printed before any was made
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


def duration_of(event: Event, profile: CompiledProfile, group: str) -> int | None:
    """Read a captured duration in microseconds."""
    value = event.hit.number(group) if group in event.hit.groups else None
    if value is None or value < 0:
        return None
    micros = value * profile.units[event.kind, group]
    return round(micros) if micros < _LONGEST_MICROSECONDS else None


def _of_kind(profile: CompiledProfile, kind: str, lines: bytes) -> Iterator[Event]:
    pattern = profile.patterns.get(kind)
    if pattern is not None:
        for hit in hits(pattern, lines):
            yield Event(kind, hit)


def _start(profile: CompiledProfile, lines: bytes) -> list[Event]:
    """Find the first start whose time is known."""
    tries = islice(_of_kind(profile, START, lines), _MOST_START_TRIES)
    return list(islice((event for event in tries if time_of(event, profile) is not None), 1))
