"""Times of events to the microsecond: from the log's own clock where it agrees with the kubelet's, else the kubelet's.

Pods print local time as often as UTC, and rarely say which. The two clocks of one line are those of one node: what
separates them is the zone, and the time that the line was buffered for.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sync_hooks.api.time import parse_rfc3339
from sync_hooks.measurements.moment import Moment

# What local time is ahead of UTC by, anywhere since 2024: whole hours, and these. In minutes.
_UNEVEN_ZONES = (-570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765, 825)
_ZONES = tuple(timedelta(minutes=minutes) for minutes in sorted([*range(-12 * 60, 14 * 60 + 1, 60), *_UNEVEN_ZONES]))
_AHEAD = timedelta(minutes=7, seconds=30)  # half of what is between two zones at least; a guest has its own clock
_WIDEST_ZONE = timedelta(hours=14, minutes=15)  # Kiribati's, and half a step


def event_time(captured: Moment | None, stamp: datetime | None) -> datetime | None:
    """Settle when something happened, from what the line says and when the kubelet got it.

    A line without a zone is of the zone in which it was printed least long before: buffers hold lines back, and no line
    comes before it was printed.
    """
    if captured is None or stamp is None:
        return captured.time if captured else stamp
    difference = captured.time - stamp
    if abs(difference) > _WIDEST_ZONE:
        return stamp  # the log's clock is not this node's
    if captured.zoned:
        return captured.time
    zone = next((zone for zone in _ZONES if zone >= difference - _AHEAD), None)
    return stamp if zone is None else captured.time - zone


def rfc3339_micro(moment: datetime | None) -> str | None:
    """Write a moment with its microseconds: ``2026-01-01T00:00:00.000001Z``."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z" if moment else None


def parse_micro(text: str | None) -> datetime | None:
    """Read what `rfc3339_micro` wrote."""
    return parse_rfc3339(text) if text else None


def span(start: datetime | None, end: datetime | None) -> float:
    """Seconds from one moment to a later one, exact to the microsecond; 0 where one is missing or they are reversed."""
    return max((end - start) / timedelta(seconds=1), 0.0) if start and end else 0.0


def total(*seconds: float) -> float:
    """Add seconds without the dust of binary fractions: sums do not depend on how they were split up."""
    return round(sum(seconds), 6)
