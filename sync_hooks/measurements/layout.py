"""Go's reference-time layouts, translated into parsers. Refuses layouts without a time of day or with half a date."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from sync_hooks.measurements.moment import MONTHS, Moment, read_moment

Layout = Callable[[str, datetime | None], Moment | None]
"""Parser of one layout: takes the text, and a time nearby that settles a missing year or date; None if none fits."""

_LONG_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_LONG_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_FRACTION = r"(?:[.,](?P<fraction>\d{1,9})\d*)?"  # Go reads one behind the seconds even where the layout has none

# What each part of the reference time captures. Go tries them in this order: the longest first.
_PARTS: Mapping[str, str] = {
    "January": f"(?P<month_name>{_LONG_MONTHS})",
    "Jan": rf"(?P<month_name>{'|'.join(MONTHS)})",
    "Monday": f"(?:{_LONG_DAYS})",
    "Mon": "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)",
    "MST": r"(?P<zone_name>[A-Za-z]{3,5})",
    "2006": r"(?P<year>\d{4})",
    "002": r"(?P<yearday>\d{3})",
    "__2": r"(?P<yearday>[ \d]{2}\d)",
    "_2": r" ?(?P<day>\d{1,2})",
    "01": r"(?P<month>\d\d)",
    "02": r"(?P<day>\d\d)",
    "03": r"(?P<hour12>\d\d)",
    "04": r"(?P<minute>\d\d)",
    "05": r"(?P<second>\d\d)",
    "06": r"(?P<short_year>\d\d)",
    "15": r"(?P<hour>\d\d)",
    "1": r"(?P<month>\d{1,2})",
    "2": r"(?P<day>\d{1,2})",
    "3": r"(?P<hour12>\d{1,2})",
    "4": r"(?P<minute>\d{1,2})",
    "5": r"(?P<second>\d{1,2})",
    "PM": "(?P<half>AM|PM)",
    "pm": "(?P<half>am|pm)",
}
_ZONES = ("07:00:00", "070000", "07:00", "0700", "07")
_EXCEPTIONS = {"Jan": "Jan(?![a-z])", "Mon": "Mon(?![a-z])", "_2": "_2(?!006)"}  # Go's own
_TOKEN = re.compile(
    "|".join([
        *(f"[-Z]{zone}" for zone in _ZONES),
        r"[.,](?:0+|9+)(?!\d)",
        *(_EXCEPTIONS.get(part, part) for part in _PARTS),
    ])
)  # fmt: skip

_WHOLE_DATES = ({"year", "month", "day"}, {"year", "yearday"})
_OPEN_DATES: tuple[set[str], ...] = ({"month", "day"}, set())
_DATE_FIELDS = {
    "year": "year",
    "short_year": "year",
    "month": "month",
    "month_name": "month",
    "day": "day",
    "yearday": "yearday",
}


def compile_layout(layout: str) -> Layout | str:
    """Translate a layout into its parser, or say in one sentence what is wrong with it."""
    try:
        pattern = re.compile(_expression(layout), re.IGNORECASE | re.ASCII)
    except re.error:  # a group of that name is there already
        return "names a part of the time twice"
    problem = _problem(pattern.groupindex)
    return problem if problem else lambda text, near: read_moment(pattern, text, near)


def _problem(names: Mapping[str, int]) -> str | None:
    dates = {_DATE_FIELDS[name] for name in names if name in _DATE_FIELDS}
    if dates not in (*_WHOLE_DATES, *_OPEN_DATES):
        return "names half a date; give year, month and day, or month and day, or none of them"
    if "minute" not in names or not {"hour", "hour12"} & names.keys():
        return "names no time of day; write Go's reference time, for example 2006-01-02 15:04:05"
    if "hour" not in names and "half" not in names:
        return "names an hour of twelve without PM"
    return None


def _expression(layout: str) -> str:
    pieces: list[str] = []
    position = 0
    after_seconds = False
    for token in _TOKEN.finditer(layout):
        between, part = layout[position : token.start()], token.group()
        if after_seconds and (between or part[0] not in ".,"):
            pieces.append(_FRACTION)
        pieces += [re.escape(between), _capture(part)]
        after_seconds = part in ("05", "5")
        position = token.end()
    if after_seconds:
        pieces.append(_FRACTION)
    return "".join([*pieces, re.escape(layout[position:])])


def _capture(part: str) -> str:
    if part in _PARTS:
        return _PARTS[part]
    if part[0] in ".,":
        return _FRACTION
    digits = part[1:].replace("0", r"\d").replace("7", r"\d")
    return rf"(?P<offset>Z|[-+]{digits})" if part[0] == "Z" else rf"(?P<offset>[-+]{digits})"
