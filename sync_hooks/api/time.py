"""Timestamps as the API writes them: RFC 3339, UTC, whole seconds. The time of day itself is always an argument."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """Write a moment as the API server does for metav1.Time, in whole seconds: ``2026-01-01T00:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_rfc3339(text: str) -> datetime | None:
    """Read an RFC 3339 timestamp with any zone and up to nine fractional digits; None when it is not one."""
    head, dot, tail = text.partition(".")
    if dot:
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6]:0<6}{tail[digits:]}"  # nanoseconds to microseconds
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def seconds_between(start: str | None, end: datetime) -> float | None:
    """Seconds from a stamp to a moment, never negative; None where there is no readable stamp."""
    moment = parse_rfc3339(start) if start else None
    return None if moment is None else max(0.0, (end - moment).total_seconds())
