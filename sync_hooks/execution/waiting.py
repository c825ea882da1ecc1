"""Bounded waits: a stamp is written by the first sync that sees the state, and every wait ends with a reason.

A wait is over only after a second look: when nobody looked for an hour, or the clock stepped, the time that has passed
says nothing about what was waited for.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.results import Waiting
from sync_hooks.api.time import parse_rfc3339, rfc3339, seconds_between

CHILD_LIVE_READ_SECONDS = 30  # by then a child that could be made has been made
CHILD_GIVE_UP_SECONDS = 300
SECOND_LOOK_SECONDS = 30  # enough for a restarted controller to have looked at everything once
FIRST_RESYNC_SECONDS = 2
LONGEST_RESYNC_SECONDS = 60
READ_FAILING = "ReadFailing"  # the cluster cannot be read: what is waited for is not known
NOT_READ = "the cluster cannot be read: "
OVERDUE = "Overdue"  # ends the reason of a wait whose limit has passed, until the second look


def wait(old: Waiting | None, reason: str, message: str, now: datetime, object_: str | None = None) -> Waiting:
    """Go on waiting, or begin to: the stamp stays while reason and object do, unless it lies in the future."""
    since = rfc3339(now)
    if old is not None and (old.reason, old.object) == (reason, object_):
        began = parse_rfc3339(old.since)
        since = old.since if began is not None and began <= now else since
    return Waiting(reason=reason, message=message, since=since, object=object_)


def wait_within(
    limit: float, old: Waiting | None, reason: str, message: str, now: datetime, object_: str | None = None
) -> Waiting | None:
    """Go on waiting as `wait` does, for ``limit`` seconds and then for a second look; None when both are over."""
    late = old is not None and (old.reason, old.object) == (f"{reason}{OVERDUE}", object_)
    if late:
        waiting = wait(old, f"{reason}{OVERDUE}", message, now, object_)
        return waiting if waited(waiting, now) < SECOND_LOOK_SECONDS else None
    waiting = wait(old, reason, message, now, object_)
    return waiting if waited(waiting, now) <= limit else wait(None, f"{reason}{OVERDUE}", message, now, object_)


def unread(old: Waiting | None, problem: str, now: datetime) -> Waiting:
    """Say that the cluster cannot be read; ``problem`` is what it answers.

    A wait under way keeps its reason and its stamp, so that a bound does not move when a read fails now and then.
    """
    if old is None or old.reason == READ_FAILING:
        return wait(old, READ_FAILING, f"{NOT_READ}{problem}", now)
    known, _, _ = old.message.partition(f"; {NOT_READ}")
    return old.model_copy(update={"message": f"{known}; {NOT_READ}{problem}"})


def waited(waiting: Waiting | None, now: datetime) -> float:
    """Seconds that a wait has lasted, 0 where there is none."""
    return (seconds_between(waiting.since, now) or 0.0) if waiting else 0.0


def is_overdue(waiting: Waiting) -> bool:
    """Tell whether the limit of a wait has passed."""
    return waiting.reason.endswith(OVERDUE)


def next_look(
    waiting: Waiting, now: datetime, least: float = FIRST_RESYNC_SECONDS, *, nothing_before: float = 0
) -> float:
    """Seconds until the next look: few at first, growing with the wait to 60, never past the second look.

    Before a wait has lasted ``nothing_before`` seconds a look would find nothing that is not told anyway.
    """
    if is_overdue(waiting):
        return max(FIRST_RESYNC_SECONDS, SECOND_LOOK_SECONDS - waited(waiting, now))
    so_far = waited(waiting, now)
    return max(min(LONGEST_RESYNC_SECONDS, max(least, so_far / 4)), nothing_before + 1 - so_far)


def next_look_for_told(waiting: Waiting, limit: float, now: datetime) -> float:
    """Seconds until the next look at a wait that a change of a child ends.

    Such a change is told by itself: a look finds out that the limit has passed, and each minute what was told in vain.
    """
    left = SECOND_LOOK_SECONDS if is_overdue(waiting) else limit
    return min(LONGEST_RESYNC_SECONDS, max(FIRST_RESYNC_SECONDS, left - waited(waiting, now) + 1))
