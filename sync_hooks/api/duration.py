"""Durations as Go writes them, read and written. Decides nothing about which durations make sense where."""

from __future__ import annotations

import re
from fractions import Fraction

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter; Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"([-+]?)(0|(?:{_AMOUNT.pattern})+)")
_LARGEST_NANOSECONDS = 2**63 - 1  # Go's time.Duration is an int64
_LONGEST_TEXT = 100  # characters; more cannot be a duration that a person wrote


def parse_duration(text: str) -> float | None:
    """Read a Go duration (``90s``, ``1h30m``, ``0``) as seconds; None for anything that Go would refuse."""
    match = _DURATION.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        return None
    sign, body = match.group(1), match.group(2)
    total = sum(int(Fraction(number) * _NANOSECONDS[unit]) for number, unit in _AMOUNT.findall(body))
    if total > _LARGEST_NANOSECONDS:
        return None
    return (-total if sign == "-" else total) / 1e9


def format_duration(seconds: float) -> str:
    """Write seconds as Go does: ``1h30m0s``, ``1.5s``, ``250ms``, ``0s``."""
    total = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and total else ""
    if total < _NANOSECONDS["s"]:
        return sign + _below_one_second(total)
    minutes, rest = divmod(total, _NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, _NANOSECONDS['s'])}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _below_one_second(total: int) -> str:
    if not total:
        return "0s"
    unit = "ms" if total >= _NANOSECONDS["ms"] else "µs" if total >= _NANOSECONDS["us"] else "ns"
    return f"{_decimal(total, _NANOSECONDS[unit])}{unit}"


def _decimal(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)
