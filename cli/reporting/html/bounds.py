"""What a threshold says as a line in a chart: the numbers that an expression compares the value with.

Draws only what is plain: comparisons of ``value`` with numbers, joined by &&. Everything else is shown as text alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_PLAIN = re.compile(rf"\(?\s*(?:value\s*(?:>=|>|<=|<)\s*({_NUMBER})|({_NUMBER})\s*(?:>=|>|<=|<)\s*value)\s*\)?")


def bounds(spec: Mapping[str, Any], figure: str) -> tuple[float, ...]:
    """Return the bounds of a figure's threshold, smallest first; none where there is no threshold or no plain one."""
    expression = threshold(spec, figure)
    found: list[float] = []
    for part in expression.split("&&"):
        match = _PLAIN.fullmatch(part.strip())
        if match is None:
            return ()
        found.append(float(match[1] or match[2]))
    return tuple(sorted(set(found)))


def threshold(spec: Mapping[str, Any], figure: str) -> str:
    """Return a figure's threshold as its author wrote it, empty where there is none."""
    return str((spec.get("thresholds") or {}).get(figure, ""))
