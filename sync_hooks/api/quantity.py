"""Kubernetes quantities (``8``, ``500m``, ``1.5Gi``, ``2e3``) as exact numbers. Total: what is none becomes None."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

LONGEST = 64  # characters; the API server writes none that is longer
LARGEST_EXPONENT = 30  # of 10 and of 2**10 together this covers everything that fits into the API's int64

_QUANTITY = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d{1,2})|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E))?")
_SUFFIXES = {
    **{suffix: Fraction(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate(("m", "u", "n"), start=1)},
}


def parse_quantity(value: object) -> Fraction | None:
    """Return the exact value of a quantity given as text or as a JSON number; None for anything else."""
    text = _text(value)
    return None if text is None else _parse(text)


def whole_units(value: object) -> int:
    """Return how many whole units a quantity holds; 0 for negative ones and for what is no quantity."""
    text = _text(value)
    return 0 if text is None else _whole(text)


def _text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip()


# Thousands of nodes have the same few quantities, each asked for a dozen times when planned: not remembered they are
# two thirds of planning, and making whole numbers of those that are remembered would still be a fifth.
@lru_cache(maxsize=1024)
def _parse(text: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    sign, digits, exponent, suffix = match.groups()
    number = Fraction(digits) * _SUFFIXES.get(suffix or "", Fraction(1))
    if exponent is not None:
        power = int(exponent[1:])
        if abs(power) > LARGEST_EXPONENT:
            return None
        number *= Fraction(10) ** power
    return -number if sign == "-" else number


@lru_cache(maxsize=1024)
def _whole(text: str) -> int:
    number = _parse(text)
    return 0 if number is None else max(0, int(number))
