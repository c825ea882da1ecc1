"""When a rotation goes on to its next stage: everybody was seen to be as far, and has had time to settle. Pure.

Time is counted from when this replica itself noticed the stage. The stamps in the Secret are of other replicas' clocks:
they are for people, and never compared with this one's.
"""

from __future__ import annotations

from datetime import timedelta

from certs.credentials import Stage
from certs.inspection import Reason
from certs.situation import Action, Decision, Seen, Situation, Track


def go_on(track: Track, stage: Stage, seen: Seen, situation: Situation) -> Decision | None:
    """Take a rotation one stage on, where its time has come, or a step back, where somebody is behind after all."""
    match stage:
        case Stage.STEADY:
            return None
        case Stage.PUBLISHING | Stage.SWITCHING:
            reason = _reached(track, seen, situation)
            return Decision(track, Action.CONFIRM, reason, f"{stage.lower()} is done") if reason else None
        case Stage.PUBLISHED | Stage.SWITCHED:
            if seen is Seen.NOT_ALL:
                return Decision(track, Action.RESUME, Reason.UNDONE, f"not all are {stage.lower()} any more")
            return _settled(track, stage, situation)


def _reached(track: Track, seen: Seen, situation: Situation) -> Reason | None:
    """Say why everybody is taken to be as far: all said so, or those that cannot be asked have had their time."""
    if seen is Seen.ALL:
        return Reason.ALL_READY
    over = _noticed_before(track, situation.settings.patience, situation)
    return Reason.PATIENCE_OVER if seen is Seen.UNKNOWN and over else None


def _settled(track: Track, stage: Stage, situation: Situation) -> Decision | None:
    settle = situation.settings.settle
    if not _noticed_before(track, settle, situation):
        return None
    action = Action.SWITCH if stage is Stage.PUBLISHED else Action.DROP
    return Decision(track, action, Reason.SETTLED, f"everybody has had {settle.total_seconds():.0f} s to take notice")


def _noticed_before(track: Track, period: timedelta, situation: Situation) -> bool:
    return situation.now >= situation.noticed.get(track, situation.now) + period
