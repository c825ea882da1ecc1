"""An attempt's starts and saves, from the events of new lines. However a log is cut up, the state ends the same.

Steps are folded apart, in `steps`: with Megatron they come from another pod, and the lines of two pods have no order.
"""

from __future__ import annotations

from collections.abc import Iterable

from sync_hooks.api.goodputrun import GoodputRun, PendingSave
from sync_hooks.measurements.clock import parse_micro, rfc3339_micro, span, total
from sync_hooks.measurements.events import DONE, SAVE, START, Event, duration_of, time_of
from sync_hooks.measurements.profile import CompiledProfile

_MICRO = 1e6


def take_lifecycle(run: GoodputRun, events: Iterable[Event], profile: CompiledProfile) -> GoodputRun:
    """Move on by starts and saves."""
    for event in events:
        if event.kind == START and run.application_start_time is None:
            started = rfc3339_micro(time_of(event, profile))
            run = run.model_copy(update={"application_start_time": started})
        elif event.kind == SAVE:
            run = _begin_save(run, event, profile)
        elif event.kind == DONE:
            run = _end_save(run, event, profile)
    return run


def _begin_save(run: GoodputRun, event: Event, profile: CompiledProfile) -> GoodputRun:
    step, time = event.hit.integer("step"), rfc3339_micro(time_of(event, profile))
    duration = duration_of(event, profile, "saveDuration")
    if duration is not None:  # one line for the whole save
        return _saved(run, step, time, duration / _MICRO)
    return run.model_copy(update={"pending_save": PendingSave(step=step, time=time)})


def _end_save(run: GoodputRun, event: Event, profile: CompiledProfile) -> GoodputRun:
    pending, step = run.pending_save, event.hit.integer("step")
    if pending is not None and step is not None and pending.step not in (None, step):
        pending = None  # the beginning of another save
    if step is None and pending is not None:
        step = pending.step
    time = time_of(event, profile)
    duration = duration_of(event, profile, "saveDuration")
    seconds = duration / _MICRO if duration is not None else span(parse_micro(pending.time) if pending else None, time)
    return _saved(run, step, rfc3339_micro(time), seconds).model_copy(update={"pending_save": None})


def _saved(run: GoodputRun, step: int | None, time: str | None, seconds: float) -> GoodputRun:
    """Count a checkpoint once: steps only grow within an attempt."""
    if step is not None and run.checkpoint_step is not None and step <= run.checkpoint_step:
        return run
    return run.model_copy(
        update={
            "checkpoint_step": run.checkpoint_step if step is None else step,
            "checkpoint_time": time or run.checkpoint_time,
            "save_sec": total(run.save_sec, seconds),
        }
    )
