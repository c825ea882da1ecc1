"""Durations as Go writes them, long enough to mean something."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sync_hooks.admission.causes import invalid
from sync_hooks.admission.value import Value
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.errors import FieldError

SHORTEST_SECONDS = 1  # time stamps of the API and of logs' windows are whole seconds


@lru_cache(maxsize=256)  # the same few come with every object
def seconds_of(text: str) -> float | None:
    """Read a duration as seconds, None where it is none."""
    return parse_duration(text)


def duration_errors(duration: Value) -> Iterator[FieldError]:
    """Check one duration; what is absent or no text is judged elsewhere."""
    if not isinstance(duration.json, str):
        return
    seconds = seconds_of(duration.json)
    if seconds is None:
        yield invalid(duration, "must be a duration such as 90s, 30m or 1h30m; units are ns, us, ms, s, m and h")
    elif seconds < SHORTEST_SECONDS:
        yield invalid(duration, f"must be at least {SHORTEST_SECONDS}s")
