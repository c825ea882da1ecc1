"""Attempts of a workload, one after the other: begun, read on, ended, summed up; and the status that follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.observed import Log
from sync_hooks.api.time import rfc3339
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro
from sync_hooks.measurements.goodput import (
    average_step_time,
    average_tflops,
    close,
    ratio,
    read_lines,
    saw_lines,
    terms_of,
)
from sync_hooks.measurements.page import Window, advance, new_lines, widen
from sync_hooks.measurements.profile import CompiledProfile


@dataclass(frozen=True, slots=True)
class Attempts:
    """The current attempt, None before any, and the sums over all before it."""

    run: GoodputRun | None
    earlier: EarlierRuns


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


def cursors(run: GoodputRun | None, logs: int) -> tuple[LogCursor, ...]:
    """Return how far each log of an attempt has been read: one log, or that of the lifecycle and that of the steps."""
    lifecycle = run.lifecycle_cursor if run else LogCursor()
    steps = run.step_cursor if run else None
    return (lifecycle,) if logs == 1 else (lifecycle, steps or LogCursor())


def read_pages(
    run: GoodputRun, pages: Sequence[Log], profile: CompiledProfile, *, ended: bool, now: datetime
) -> tuple[GoodputRun, tuple[Window, ...]]:
    """Move an attempt on by a page of each of its logs."""
    windows: list[Window] = []
    both = len(pages) == 1
    for index, (cursor, page) in enumerate(zip(cursors(run, len(pages)), pages, strict=True)):
        window = new_lines(cursor, page, ended=ended, now=now)
        windows.append(window)
        moved = (widen(cursor) or cursor) if window.stuck else advance(cursor, window.lines)
        run = read_lines(run, window.lines, profile, lifecycle=index == 0, steps=both or index == 1)
        run = saw_lines(run, moved.first_line_time, moved.last_line_time)
        field = "lifecycle_cursor" if index == 0 else "step_cursor"
        run = run.model_copy(update={field: moved, "gaps": (run.gaps or 0) + window.gap or None})
    return run, tuple(windows)


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
        "notes": list(_notes(run)) or None,
        **_sums(whole, max(until, end)),
    }


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


def _notes(run: GoodputRun) -> Iterator[str]:
    if run.gaps:
        yield f"{run.gaps} times lines of the log were rotated away before they could be read"


def _whole(text: str | None) -> str | None:
    """Write a time of the state as the status shows it, in whole seconds."""
    moment = parse_micro(text)
    return rfc3339(moment) if moment else None
