"""When a rotation goes on to its next stage: everybody was seen to be as far, and has had time to settle. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from certs.credentials import Progress, Stage
from certs.inspection import Reason
from certs.situation import Action, Decision, Seen, Situation, Track

CLOCK_SKEW = timedelta(minutes=1)  # between replicas: a stamp may come from a clock that is ahead


def go_on(track: Track, stage: Stage, progress: Progress, seen: Seen, situation: Situation) -> Decision | None:
    """Take a rotation one stage on, where its time has come, or a step back, where somebody is behind after all."""
    match stage:
        case Stage.STEADY:
            return None
        case _ if not _known(progress, situation.now):
            return Decision(track, Action.RESUME, Reason.STAMP_UNUSABLE, f"{stage.lower()} begins again")
        case Stage.PUBLISHING | Stage.SWITCHING:
            reason = _reached(seen, progress, situation)
            return Decision(track, Action.CONFIRM, reason, f"{stage.lower()} is done") if reason else None
        case Stage.PUBLISHED | Stage.SWITCHED:
            if seen is Seen.NOT_ALL:
                return Decision(track, Action.RESUME, Reason.UNDONE, f"not all are {stage.lower()} any more")
            return _settled(track, stage, progress, situation)


def _known(progress: Progress, now: datetime) -> bool:
    """Tell whether the stamps are there and from the past: a clock, here or of another replica, may have been wrong."""
    return progress.since is not None and max(progress.since, progress.confirmed or progress.since) <= now + CLOCK_SKEW


def _reached(seen: Seen, progress: Progress, situation: Situation) -> Reason | None:
    """Say why everybody is taken to be as far: all said so, or those that cannot be asked have had their time."""
    if seen is Seen.ALL:
        return Reason.ALL_READY
    over = progress.since is not None and situation.now >= progress.since + situation.settings.patience
    return Reason.PATIENCE_OVER if seen is Seen.UNKNOWN and over else None


def _settled(track: Track, stage: Stage, progress: Progress, situation: Situation) -> Decision | None:
    settle = situation.settings.settle
    if progress.confirmed is None or situation.now < progress.confirmed + settle:
        return None
    action = Action.SWITCH if stage is Stage.PUBLISHED else Action.DROP
    return Decision(track, action, Reason.SETTLED, f"everybody has had {settle.total_seconds():.0f} s to take notice")
