"""A bandwidth reading moved on by one page of a log, and what can be said where it holds no rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.api.observed import Log
from sync_hooks.api.time import seconds_between
from sync_hooks.measurements.collective import collective
from sync_hooks.measurements.nccl import consumable, read_table
from sync_hooks.measurements.page import Window, advance, late_note, new_lines, widen
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.stamp import moment_of
from sync_hooks.measurements.tally import Wanted

ROTATED_AFTER_SECONDS = 60  # a log that begins so much later than its container has lost its beginning


def read_page(
    reading: BandwidthReading, page: Log, profile: CompiledProfile, wanted: Wanted, *, ended: bool, now: datetime
) -> tuple[BandwidthReading, Window]:
    """Read the new lines of a page; where nothing of it can be read, the next page will be larger."""
    window = new_lines(reading.cursor, page, ended=ended, now=now)
    lines = window.lines[: consumable(reading, window.lines, last=window.last)]
    wider = widen(reading.cursor)
    if page.truncated and not lines and wider is not None:
        return reading.model_copy(update={"cursor": wider}), replace(window, lines=b"", stuck=True)
    if page.truncated and not lines:
        lines = window.lines  # rather a row without its end than no progress
    if window.gap and (reading.open or reading.announced):  # what goes on behind the gap is not the whole table
        unended = (reading.unended or 0) + 1
        reading = reading.model_copy(update={"open": None, "announced": None, "unended": unended})
    read = read_table(reading, lines, profile, wanted)
    gaps = (reading.gaps or 0) + window.gap
    return read.model_copy(update={"cursor": advance(reading.cursor, lines), "gaps": gaps or None}), window


def rotated(whole: BandwidthReading, before: BandwidthReading | None, started_at: str | None) -> str:
    """Say of a log that it has lost its beginning, where it shows; empty where it seems whole.

    ``whole`` was read from the log's beginning, ``before`` while it was written; ``started_at`` is when the container
    started.
    """
    first = moment_of((whole.cursor.first_line_time or "").encode())
    earlier = moment_of((before.cursor.first_line_time or "").encode()) if before else None
    late = seconds_between(started_at, first) if first else None
    if first and earlier and first > earlier:
        return "its beginning was rotated away"
    if late is not None and late > ROTATED_AFTER_SECONDS:
        return late_note(late)
    return ""


def nothing_in(reading: BandwidthReading, wanted: Wanted) -> str:
    """Say why a log brought no rows that count."""
    if reading.others:
        unknown = wanted.test is not None and collective(wanted.test) is None
        why = f": {wanted.test} is no collective that is known" if unknown else ""
        return f"the log holds no rows that count, only some of {', '.join(reading.others)}{why}"
    if reading.unread:
        return f"the log holds {reading.unread} rows, but none that could be read"
    if reading.announced or reading.unfilled:
        return "the log holds the beginning of a table, and no row of it"
    return "the log holds no table"
