"""The kubelet's timestamp in front of every line: found, read to the nanosecond, written for the next request."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?=[ \n]|$)")
LONGEST_STAMP = len("2026-01-01T00:00:00.000000000+00:00 ")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000  # nanoseconds


def stamp_of(text: bytes, line_start: int = 0) -> bytes | None:
    """Return the timestamp that a line begins with, as written; None for a line without one."""
    match = _STAMP.match(text, line_start)
    return match.group() if match else None


def text_start(text: bytes, line_start: int) -> int:
    """Return where the application's own text begins in a line that begins at ``line_start``."""
    match = _STAMP.match(text, line_start)
    if match is None:
        return line_start
    return match.end() + (text[match.end() : match.end() + 1] == b" ")


def nanoseconds(stamp: bytes) -> int | None:
    """Read a timestamp as nanoseconds since 1970 in UTC, whatever its zone; None where it is none."""
    match = _STAMP.fullmatch(stamp)
    if match is None:
        return None
    try:
        local = datetime.fromisoformat(match.group(1).decode()).replace(tzinfo=_zone(match.group(3).decode()))
        moment = local.astimezone(UTC)
    except (ValueError, OverflowError):  # the 31st of February, an offset of 99 hours, before the first year
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return seconds * _SECOND + int((match.group(2) or b"0").ljust(9, b"0"))


def moment_of(stamp: bytes | None) -> datetime | None:
    """Read a timestamp as a moment in UTC, to the microsecond."""
    instant = nanoseconds(stamp) if stamp else None
    return None if instant is None else _EPOCH + timedelta(microseconds=instant // 1000)


def whole_second(stamp: str) -> str | None:
    """Write the second of a timestamp as a request for logs takes it: ``2026-01-01T00:00:00Z``."""
    moment = moment_of(stamp.encode())
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}Z" if moment else None


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    size = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-size if text[0] == "-" else size)
