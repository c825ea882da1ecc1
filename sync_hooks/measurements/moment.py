"""Times as a log writes them: parts of a matched layout become a moment. A time nearby settles what is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_NAMED_ZONES = ("UTC", "GMT")  # other abbreviations mean different offsets in different places
_FIRST_SHORT_YEAR = 69  # Go and Unix read 69 as 1969 and 68 as 2068
_HOURS_OF_HALF_A_DAY = 12


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as the log writes it. Unless ``zoned`` the text names no zone that is certain, and was read as UTC."""

    time: datetime
    zoned: bool


def read_moment(pattern: re.Pattern[str], text: str, near: datetime | None) -> Moment | None:
    """Read a text by a compiled layout; of several possible years or days the one nearest to ``near`` is meant."""
    match = pattern.fullmatch(text.strip())
    if match is None:
        return None
    parts = {name: value for name, value in match.groupdict().items() if value is not None}
    zone = _zone(parts)
    try:
        time_of_day = _time_of_day(parts)
        candidates = [day + time_of_day - (zone or timedelta()) for day in _days(parts, near)]
    except (ValueError, OverflowError):  # the hour 25, the year 0
        return None
    if not candidates:
        return None
    time = min(candidates, key=lambda candidate: abs(candidate - near)) if near else candidates[0]
    return Moment(time, zoned=zone is not None)


def _days(parts: Mapping[str, str], near: datetime | None) -> list[datetime]:
    """List the days that the text can mean: one where it names the year, else those around ``near``."""
    year = _year(parts)
    if year is not None:
        days = [_day(year, parts)]
    elif near is None:
        days = []
    elif "day" in parts:
        days = [_day(near.year + shift, parts) for shift in (-1, 0, 1)]
    else:
        today = near.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        days = [today + timedelta(days=shift) for shift in (-1, 0, 1)]
    return [day for day in days if day is not None]


def _day(year: int, parts: Mapping[str, str]) -> datetime | None:
    try:
        if "yearday" in parts:
            day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(parts["yearday"]) - 1)
            return day if day.year == year else None
        return datetime(year, _month(parts), int(parts["day"]), tzinfo=UTC)
    except (ValueError, OverflowError):  # the 31st of February
        return None


def _year(parts: Mapping[str, str]) -> int | None:
    if "year" in parts:
        return int(parts["year"])
    if "short_year" in parts:
        short = int(parts["short_year"])
        return short + (1900 if short >= _FIRST_SHORT_YEAR else 2000)
    return None


def _month(parts: Mapping[str, str]) -> int:
    if "month" in parts:
        return int(parts["month"])
    return MONTHS.index(parts["month_name"][:3].lower()) + 1


def _time_of_day(parts: Mapping[str, str]) -> timedelta:
    hour, minute, second = _hour(parts), int(parts["minute"]), int(parts.get("second", 0))
    if hour >= 2 * _HOURS_OF_HALF_A_DAY or max(minute, second) > 59:
        raise ValueError(parts)
    micros = int(f"{parts.get('fraction', '0'):0<6}"[:6])
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)


def _hour(parts: Mapping[str, str]) -> int:
    if "hour" in parts:
        return int(parts["hour"])
    hour = int(parts["hour12"])
    if not 1 <= hour <= _HOURS_OF_HALF_A_DAY:
        raise ValueError(hour)
    return hour % _HOURS_OF_HALF_A_DAY + (_HOURS_OF_HALF_A_DAY if parts["half"].upper() == "PM" else 0)


def _zone(parts: Mapping[str, str]) -> timedelta | None:
    offset = parts.get("offset")
    if offset is None:
        return timedelta() if parts.get("zone_name", "").upper() in _NAMED_ZONES else None
    digits = offset[1:].replace(":", "")
    hours, minutes, seconds = (int(digits[at : at + 2] or 0) for at in (0, 2, 4))
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -size if offset[0] == "-" else size
