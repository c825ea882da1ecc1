"""Durations as Go writes them, long enough to mean something."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid
from sync_hooks.admission.value import Value
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.errors import FieldError

SHORTEST_SECONDS = 1  # time stamps of the API and of logs' windows are whole seconds


def duration_errors(duration: Value) -> Iterator[FieldError]:
    """Check one duration; what is absent or no text is judged elsewhere."""
    if not isinstance(duration.json, str):
        return
    seconds = parse_duration(duration.json)
    if seconds is None:
        yield invalid(duration, "must be a duration such as 90s, 30m or 1h30m; units are ns, us, ms, s, m and h")
    elif seconds < SHORTEST_SECONDS:
        yield invalid(duration, f"must be at least {SHORTEST_SECONDS}s")
