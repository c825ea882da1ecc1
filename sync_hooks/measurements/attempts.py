"""Attempts of a workload, one after the other: begun, read on, ended, summed up; and the status that follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.observed import Log
from sync_hooks.api.time import parse_rfc3339, rfc3339, seconds_between
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro
from sync_hooks.measurements.goodput import (
    average_step_time,
    average_tflops,
    close,
    ratio,
    terms_of,
)
from sync_hooks.measurements.page import Window, advance, gaps_note, late_note, new_lines, widen
from sync_hooks.measurements.pods import Source
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.reading import ROTATED_AFTER_SECONDS
from sync_hooks.measurements.sampling import LONGEST_INTERVAL_SECONDS
from sync_hooks.measurements.stamp import moment_of
from sync_hooks.measurements.training import read_lines, saw_lines

_ONE_OF = 100  # lines; an average is not far off without so few

LIFECYCLE, STEPS = 0, 1
Places = tuple[int, ...]
"""What a log tells of: starts and saves (`LIFECYCLE`), training steps (`STEPS`), or both."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The current attempt, None before any, and the sums over all before it."""

    run: GoodputRun | None
    earlier: EarlierRuns

    @property
    def all(self) -> tuple[GoodputRun | EarlierRuns, ...]:
        """Whatever there is, for counts that are kept of both."""
        return (self.earlier,) if self.run is None else (self.run, self.earlier)


def on_attempt(attempts: Attempts, workload_uid: str, restart: int) -> Attempts:
    """Turn to an attempt: one that is new interrupts the one before, which ended with its last line at the latest."""
    run = attempts.run
    if run is not None and run.workload_uid == workload_uid and (run.restart or 0) >= restart:
        return attempts
    earlier = attempts.earlier
    end = parse_micro(run.end_time) or parse_micro(run.last_line_time) if run else None
    if run is not None and end is not None:
        earlier = close(earlier, run, end, interrupted=True)
    return Attempts(GoodputRun(workload_uid=workload_uid, restart=restart or None), earlier)


def of_pods(attempts: Attempts, sources: Sequence[Source]) -> Attempts:
    """Keep what these pods have shown; a workload that was held back or made anew has others, and begins from nothing.

    Time in a queue is no time of training, and how the former pods ended nobody has read. Their checkpoint is left.
    """
    run, pods = attempts.run, [source.pod for source in sources]
    if run is None or set(pods) <= set(run.pods or ()):
        return attempts
    if run.pods is None:
        return Attempts(run.model_copy(update={"pods": pods}), attempts.earlier)
    trained = run.first_step is not None
    update: dict[str, object] = {"replaced": (attempts.earlier.replaced or 0) + trained or None}
    if run.checkpoint_step is not None:
        update |= {"checkpoint_step": run.checkpoint_step, "checkpoint_time": run.checkpoint_time}
    fresh = GoodputRun(workload_uid=run.workload_uid, restart=sources[0].restart or None, pods=pods)
    return Attempts(fresh, attempts.earlier.model_copy(update=update))


def cursor_of(run: GoodputRun | None, places: Places) -> LogCursor:
    """Return how far a log of an attempt has been read."""
    known = run.lifecycle_cursor if run and LIFECYCLE in places else run.step_cursor if run else None
    return known or LogCursor()


def read_pages(
    earlier: EarlierRuns,
    run: GoodputRun,
    pages: Sequence[tuple[Places, Log]],
    profile: CompiledProfile,
    *,
    ended: bool,
    now: datetime,
) -> tuple[EarlierRuns, GoodputRun, tuple[Window, ...]]:
    """Move an attempt on by a page of each of its logs, or of those that can be read."""
    windows: list[Window] = []
    new: dict[str, bytes] = {}
    for places, page in pages:
        cursor = cursor_of(run, places)
        window = new_lines(cursor, page, ended=ended, now=now)
        windows.append(window)
        moved = (widen(cursor) or cursor) if window.stuck else advance(cursor, window.lines)
        if not page.content and moved.last_line_time is None:
            moved = moved.model_copy(update={"empty_time": rfc3339(now)})
        run = saw_lines(run, moved.first_line_time, moved.last_line_time)
        field = "lifecycle_cursor" if LIFECYCLE in places else "step_cursor"
        run = run.model_copy(update={field: moved, "gaps": (run.gaps or 0) + window.gap or None})
        new["steps" if places == (STEPS,) else "lines"] = window.lines
    steps = new.get("steps", b"" if (LIFECYCLE,) in dict(pages) else None)
    earlier, run = read_lines(earlier, run, new.get("lines", b""), profile, steps)
    return earlier, run, tuple(windows)


def note_beginning(before: GoodputRun | None, run: GoodputRun, source: Source, now: datetime) -> GoodputRun:
    """Note that a log begins so much later than its container that it may have lost its beginning.

    A log that was seen without a line has lost none from before, and none in the time of one sample, by whichever clock
    that is told: the node's may be far from ours.
    """
    known, cursor = cursor_of(before, source.places), cursor_of(run, source.places)
    first = moment_of(cursor.first_line_time.encode()) if cursor.first_line_time else None
    if first is None or known.first_line_time is not None:
        return run
    late = seconds_between(source.started_at, first) or 0.0
    for unseen in (seconds_between(known.empty_time, first), seconds_between(known.empty_time, now)):
        late = late if unseen is None else min(late, unseen - LONGEST_INTERVAL_SECONDS)
    if late <= max(ROTATED_AFTER_SECONDS, run.late_sec or 0):
        return run
    return run.model_copy(update={"late_sec": int(late)})


def see_step(before: GoodputRun | None, run: GoodputRun, now: datetime) -> GoodputRun:
    """Note when the last step was first seen; a stamp from the future is set again."""
    seen = parse_rfc3339(run.step_seen_time or "")
    known = before is not None and before.last_step == run.last_step and seen is not None and seen <= now
    if known or run.last_step is None:
        return run
    return run.model_copy(update={"step_seen_time": rfc3339(now)})


def finish(run: GoodputRun, end: datetime | None) -> GoodputRun:
    """Say that an attempt is over and its logs have been read."""
    known = rfc3339_micro(end) or run.last_line_time
    return run.model_copy(update={"finished": True, "end_time": run.end_time or known})


def shown(attempts: Attempts, until: datetime, *, failed: bool) -> dict[str, object]:
    """Return the status fields that follow from the attempts.

    ``until`` is the end of the workload, or now while it runs. ``failed`` tells that the current attempt was
    interrupted.
    """
    run = attempts.run
    if run is None:
        return {}
    end = parse_micro(run.end_time) or until
    whole = close(attempts.earlier, run, end, interrupted=failed)
    return {
        "current_step": run.last_step,
        "application_start_time": _whole(run.application_start_time),
        "application_stop_time": _whole(run.last_line_time),
        "last_step_timestamp": _whole(run.last_step_time),
        "notes": [*doubts(attempts), *notes(attempts)] or None,
        **_sums(whole, max(until, end)),
    }


FIGURES = (
    "result",
    "training_time_sec",
    "lost_work_time_sec",
    "reschedule_time_sec",
    "resume_time_sec",
    "checkpoint_save_time_sec",
    "avg_step_time_sec",
    "avg_tflops_per_gpu",
    "warmup_time_sec",
    "non_warmup_time_sec",
)
"""Fields that are shown once a step was seen."""


def _sums(whole: EarlierRuns, until: datetime) -> dict[str, object]:
    """Return the fields that stand for all attempts; terms and result only once a step was seen."""
    update: dict[str, object] = {
        "interruption_count": whole.interruptions or None,
        "highest_step": whole.highest_step,
        "last_checkpoint_step": whole.checkpoint_step,
        "last_checkpoint_time": _whole(whole.checkpoint_time),
        "training_start_time": _whole(whole.training_start_time),
    }
    terms = terms_of(whole, until)
    if terms is None or whole.highest_step is None:
        return update
    return update | {
        "result": ratio(terms),
        "training_time_sec": terms.training,
        "lost_work_time_sec": terms.lost,
        "reschedule_time_sec": terms.reschedule,
        "resume_time_sec": terms.resume,
        "checkpoint_save_time_sec": terms.save,
        "avg_step_time_sec": average_step_time(whole.sums),
        "avg_tflops_per_gpu": average_tflops(whole.sums),
        "warmup_time_sec": whole.sums.warmup_sec,
        "non_warmup_time_sec": whole.sums.non_warmup_sec,
    }


def doubts(attempts: Attempts) -> Iterator[str]:
    """Say which lines may be missing, of all attempts: what they told of is counted as progress."""
    if gaps := sum(item.gaps or 0 for item in attempts.all):
        yield gaps_note(gaps)
    if late := max(item.late_sec or 0 for item in attempts.all):
        yield f"the log may lack its beginning: {late_note(late)}"
    yield from (text for text, few in _partial(attempts) if not few)


def notes(attempts: Attempts) -> Iterator[str]:
    """Say what does not count, and leaves the figures right."""
    if times := attempts.earlier.replaced:
        often = "once" if times == 1 else f"{times} times"
        yield f"the workload was suspended, or made anew, {often}: training before that does not count"
    yield from (text for text, few in _partial(attempts) if few)


def _partial(attempts: Attempts) -> Iterator[tuple[str, bool]]:
    """Say which averages are not of all steps, each with whether only a few are missing."""
    sums = [item.sums for item in attempts.all]
    lines = sum(item.lines for item in sums)
    counts = {"TFLOP/s": sum(item.tflops_lines for item in sums), "time": sum(item.timings for item in sums)}
    for name, count in counts.items():
        if 0 < count < lines:
            text = f"{_lines(lines - count)} of {lines} with training steps show no {name} that can be read"
            yield f"{text}: the average is of the others", (lines - count) * _ONE_OF <= lines


def without_steps(attempts: Attempts, log_interval: int) -> str:
    """Say why no training step counted."""
    off = sum(item.off_interval or 0 for item in attempts.all)
    unnumbered = sum(item.unnumbered or 0 for item in attempts.all)
    if off:
        text = f"the log holds {_lines(off)} of training steps, none of a multiple of logInterval {log_interval}"
        return f"{text}: set logInterval of the LogProfile to that of the training, or train for longer"
    if unnumbered:
        return f"the log holds {_lines(unnumbered)} of training steps, none with a number above 0"
    return "the log holds no training step"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _whole(text: str | None) -> str | None:
    """Write a time of the state as the status shows it, in whole seconds."""
    moment = parse_micro(text)
    return rfc3339(moment) if moment else None
