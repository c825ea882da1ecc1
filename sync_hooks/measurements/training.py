"""An attempt moved on by new lines of its training log, or of two logs where another pod prints the steps.

Two logs have no order but that of their times, by the clocks of two nodes. However a log is cut up, the state ends the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from heapq import merge

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.measurements.anew import signs_of
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro
from sync_hooks.measurements.events import RESTORE, START, STEP, Event, find_events, time_of
from sync_hooks.measurements.goodput import close
from sync_hooks.measurements.page import readable
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.progress import take_lifecycle
from sync_hooks.measurements.stamp import moment_of
from sync_hooks.measurements.steps import take_steps

_MOST_STARTS = 1000  # of a log without steps; a banner that matches every line tells no more


def read_lines(
    earlier: EarlierRuns, run: GoodputRun, lines: bytes, profile: CompiledProfile, steps: bytes | None = None
) -> tuple[EarlierRuns, GoodputRun]:
    """Move an attempt on by new lines of its log; ``steps`` are those of another pod's log, where that has the steps.

    What was interrupted inside the container, and began anew there, is summed up as an attempt is.
    """
    text = readable(lines if steps is None else steps)
    events = _events(run, text, profile) if steps is None else _of_two(run, readable(lines), text, profile)
    taken = 0
    while True:
        signs = signs_of(run.anew, earlier.interruptions, profile, text, ordered=steps is None)
        begin = taken
        run, taken = take_steps(run, events, begin, profile, signs)
        run = take_lifecycle(run, events[begin:taken], profile)
        if taken == len(events):
            return earlier, run
        earlier, run = _begin_anew(earlier, run, signs.time)


def _events(run: GoodputRun, text: bytes, profile: CompiledProfile) -> list[Event]:
    return find_events(profile, text, starts=0 if run.application_start_time else 1)


def _of_two(run: GoodputRun, lines: bytes, steps: bytes, profile: CompiledProfile) -> list[Event]:
    """Find the events of two logs; they are put in the order of their times where that tells something."""
    told = [event for event in find_events(profile, lines, starts=_MOST_STARTS) if event.kind != STEP]
    trained = [event for event in find_events(profile, steps, starts=0) if event.kind in (STEP, RESTORE)]
    if run.anew is None and not any(event.kind in (START, RESTORE) for event in told):
        return [*told, *trained]
    return [event for _, event in merge(_timed(told, profile), _timed(trained, profile), key=lambda item: item[0])]


def _timed(events: Iterable[Event], profile: CompiledProfile) -> Iterator[tuple[datetime, Event]]:
    """Give every event a time, that of the one before where it has none."""
    last = datetime.min.replace(tzinfo=UTC)
    for event in events:
        last = time_of(event, profile) or last
        yield last, event


def _begin_anew(earlier: EarlierRuns, run: GoodputRun, time: datetime | None) -> tuple[EarlierRuns, GoodputRun]:
    """Close what ran in the container until ``time``; the log is read on."""
    began = rfc3339_micro(time)
    fresh = GoodputRun(
        workload_uid=run.workload_uid,
        restart=run.restart,
        pods=run.pods,
        lifecycle_cursor=run.lifecycle_cursor,
        step_cursor=run.step_cursor,
        first_line_time=began,
        last_line_time=run.last_line_time,
        application_start_time=began,
    )
    return (earlier if time is None else close(earlier, run, time, interrupted=True)), fresh


def saw_lines(run: GoodputRun, first: str | None, last: str | None) -> GoodputRun:
    """Note the kubelet's timestamps of the first and the last line that were read."""
    began = moment_of(first.encode()) if first else None
    ended = moment_of(last.encode()) if last else None
    known = parse_micro(run.last_line_time)
    latest = max((moment for moment in (ended, known) if moment), default=None)
    return run.model_copy(
        update={
            "first_line_time": run.first_line_time or rfc3339_micro(began),
            "last_line_time": rfc3339_micro(latest),
        }
    )
