"""Whether a workload began anew inside its container, as torchrun lets it: by what was printed since its last step.

A checkpoint that is loaded is a sign, and another start is one where the next step goes back; the next step shows it.
Steps that go back alone are none: some frameworks count them within an epoch. Nor is a start alone: a banner may match
most of a framework's lines. So starts are looked for only where they tell something: in the lines between two steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sync_hooks.api.goodputrun import Anew
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro
from sync_hooks.measurements.events import RESTORE, Event, find_starts, time_of
from sync_hooks.measurements.profile import CompiledProfile

MOST_INTERRUPTIONS = 1000  # of a Job; more is no training, and each costs time


@dataclass(slots=True)
class Signs:
    """What was printed since the last step, whose line ends before ``behind`` in ``text``, the log with the steps."""

    profile: CompiledProfile
    text: bytes
    ordered: bool  # whether events come in the order of one log; else in that of the clocks of two nodes
    counts: bool = True  # whether another new beginning is still told from the last one
    behind: int = 0
    time: datetime | None = None
    restored: bool = False

    def noted(self) -> Anew | None:
        """Return the signs for the next lines."""
        time = rfc3339_micro(self.time)
        return Anew(time=time, restored=self.restored or None) if time else None


def signs_of(known: Anew | None, before: int, profile: CompiledProfile, text: bytes, *, ordered: bool) -> Signs:
    """Return the signs so far, of a log whose next lines are ``text``, after so many interruptions."""
    time = parse_micro(known.time) if known else None
    counts = before < MOST_INTERRUPTIONS
    return Signs(profile, text, ordered, counts, time=time, restored=bool(known and known.restored))


def note(signs: Signs, event: Event) -> None:
    """Note a start, or a checkpoint that is loaded, after a step."""
    if event.hit.lines is signs.text:
        find_start(signs, event.hit.start)
    signs.time = signs.time or time_of(event, signs.profile)
    signs.restored = signs.restored or event.kind == RESTORE


def find_start(signs: Signs, end: int | None = None) -> None:
    """Look for a start behind the last step, up to the beginning of a line; the first one counts."""
    if signs.time is None:
        for event in find_starts(signs.profile, signs.text, signs.behind, end):
            signs.time = time_of(event, signs.profile)


def is_shown(signs: Signs, step: Event, *, goes_back: bool) -> bool:
    """Tell whether a step shows that the workload has begun anew before it; one that does not makes the signs void."""
    if goes_back:
        find_start(signs, step.hit.start)
    if signs.time is None or not signs.counts or not (signs.restored or goes_back):
        return False
    time = None if signs.ordered else time_of(step, signs.profile)
    return time is None or time >= signs.time


def pass_step(signs: Signs, step: Event) -> None:
    """Begin again behind a step; a sign of another node that is later than the step stays."""
    signs.behind = step.hit.end + 1
    if signs.time is not None and not signs.ordered:
        time = time_of(step, signs.profile)
        if time is not None and time < signs.time:
            return
    signs.time, signs.restored = None, False
