"""The tables of nccl-tests in new lines of a log, read into sums by message size: every version, torn rows too.

Order: put torn rows together; find what marks the tables (headers, names, footers, ranks) and the rows that the
profile's pattern matches; take them in, in the order of the lines; look for the networks that NCCL names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.measurements.listing import programs, take_ranks
from sync_hooks.measurements.mending import MOST_LINES_BETWEEN, is_open, mend
from sync_hooks.measurements.network import read_networks
from sync_hooks.measurements.page import readable
from sync_hooks.measurements.pattern import Hit, Pattern, compile_pattern, either, hits, number_of
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.rows import PRINTED_GBPS, TYPES, Columns, RowLine, columns_of, counts_wrong, row_line
from sync_hooks.measurements.tally import LARGEST_BANDWIDTH, Wanted, may_count, take_row

_NAME, _RANKS, _HEADER = 1, 2, 3  # how a program of nccl-tests announces its table, in this order
_PRINTED_SHARE = 1e-4  # of a bandwidth: large ones are printed with five digits
_MARKERS = (
    rf"(?P<row>\d+[ \t]+\d+[ \t]+(?:{TYPES})(?:[ \t]|$))"
    r"|#[ \t]*(?P<header>(?:size[ \t]+count|bytes[ \t]+N)[ \t]+type\b.*)"
    r"|Collective test starting:[ \t]*(?P<name>\S+)"
    r"|(?P<over>Collective test concluded)"
    r"|Out of bounds values[ \t]*:[ \t]*(?P<wrong>\d+)"
    r"|Avg bus bandwidth[ \t]*:[ \t]*(?P<average>\S+)"
    r"|#[ \t]+Rank[ \t]+(?P<rank>\d+)[ \t].*?[ \t]on[ \t]+(?P<host>\S+)[ \t]+device"
)


_NO_AVERAGE = {"bus_sum": None, "bus_count": None}
"""What of a reading is forgotten when a table ends."""


def consumable(reading: BandwidthReading, lines: bytes, *, last: bool) -> int:
    """Return how many bytes of new lines can be read now: a torn row at their end waits for its rest.

    With 0 there is nothing but a torn row.
    """
    begin = 0 if last else _tail(lines)
    text = readable(lines[begin:])
    rows = [] if last else list(_row_starts(_columns_before(reading, lines, begin), hits(_markers(), text)))
    if not rows or not is_open(text, rows[-1][0].start, rows[-1][1]):
        return len(lines)
    for _ in range(text.count(b"\n", 0, rows[-1][0].start)):  # readable lines differ in length, not in number
        begin = lines.find(b"\n", begin) + 1
    return begin


def _tail(lines: bytes) -> int:
    """Find the beginning of the last lines, as many as a row can be torn over, and one."""
    position = len(lines)
    for _ in range(MOST_LINES_BETWEEN + 2):
        position = lines.rfind(b"\n", 0, max(position, 0))
    return position + 1


def _columns_before(reading: BandwidthReading, lines: bytes, end: int) -> Columns:
    """Return the columns of the table at a place in new lines: of the last header before it."""
    word = lines.rfind(b"busbw", 0, end)
    if word < 0:
        return reading.columns or ()
    begin = lines.rfind(b"\n", 0, word) + 1
    return columns_of(readable(lines[begin : lines.find(b"\n", word)])) or reading.columns or ()


def read_table(reading: BandwidthReading, lines: bytes, profile: CompiledProfile, wanted: Wanted) -> BandwidthReading:
    """Move a reading on by new lines."""
    text = readable(lines)
    pattern = profile.patterns.get("bandwidth_result")
    marked, results = _found(text, pattern)
    rows = _rows(reading.columns or (), marked.values())
    mended = mend(text, rows)
    if mended is not text:
        text = mended
        marked, results = _found(text, pattern)
        rows = _rows(reading.columns or (), marked.values())
    listed: list[Hit] = []
    for start in sorted({*marked, *results}):
        marker, line = marked.get(start), rows.get(start)
        if marker is not None and line is None and marker.text("rank") is not None:
            listed.append(marker)
            continue
        if listed:
            reading, listed = _take_ranks(reading, listed, wanted), []
        if marker is not None and line is None:
            reading = _take_marker(reading, marker, wanted)
        else:
            line = line or row_line(results[start].line(), reading.columns or ())
            reading = take_row(_filled(reading), line, results.get(start), wanted)
    reading = _take_ranks(reading, listed, wanted)
    return read_networks(reading, text, profile.patterns.get("network_transport"))


def _found(text: bytes, pattern: Pattern | None) -> tuple[dict[int, Hit], dict[int, Hit]]:
    """Find what marks tables and what the profile's pattern matches, each by the beginning of its line."""
    marked: dict[int, Hit] = {}
    results: dict[int, Hit] = {}
    wanted = [(_markers(), marked), *([(pattern, results)] if pattern else [])]
    both = either(_markers(), pattern) if pattern else None
    lines = [(0, len(text))] if both is None else ((line.start, line.end + 1) for line in hits(both, text))
    for start, following in lines:
        for item, found in wanted:
            for hit in hits(item, text, start, min(following, len(text))):
                found[hit.start] = hit
    return marked, results


@cache
def _markers() -> Pattern:
    compiled = compile_pattern(_MARKERS)
    if isinstance(compiled, str):
        raise TypeError(compiled)
    return compiled


def _rows(columns: Columns, markers: Iterable[Hit]) -> dict[int, RowLine]:
    """Read the lines with the beginning of a row, by where they begin."""
    starts = _row_starts(columns, markers)
    return {marker.start: row_line(marker.line(), columns) for marker, columns in starts}


def _row_starts(columns: Columns, markers: Iterable[Hit]) -> Iterator[tuple[Hit, Columns]]:
    """Find the lines with the beginning of a row, each with the columns of its table."""
    for marker in markers:
        if marker.text("row") is not None:
            yield marker, columns
        elif (header := marker.text("header")) is not None:
            columns = columns_of(header)
        elif marker.text("name") is not None:
            columns = ()


def _take_marker(reading: BandwidthReading, marker: Hit, wanted: Wanted) -> BandwidthReading:
    header, name = marker.text("header"), marker.text("name")
    if header is not None:
        return _new_table(_announced(reading, _HEADER, wanted), {"columns": columns_of(header) or None})
    if name is not None:
        table = name.decode(errors="replace")[:64]
        return _new_table(_announced(reading, _NAME, wanted), {"table": table, "columns": None})
    reading = _filled(reading)
    if marker.text("over") is not None:
        unended = (reading.unended or 0) + bool(reading.open)
        update = {"table": None, "table_counts": None, "open": None, "unended": unended or None}
        return reading.model_copy(update=update)
    return _take_footer(reading, marker) if reading.table_counts else reading.model_copy(update=_NO_AVERAGE)


def _announced(reading: BandwidthReading, stage: int, wanted: Wanted) -> BandwidthReading:
    """Note that a table is announced; the one before that was announced as far, and has no row, will have none."""
    again = reading.announced is not None and reading.announced >= stage
    unfilled = (reading.unfilled or 0) + (again and may_count(reading.table, wanted))
    return reading.model_copy(update={"announced": stage, "unfilled": unfilled or None})


def _filled(reading: BandwidthReading) -> BandwidthReading:
    """Note that a row has come, or a footer, which a table without rows has too."""
    return reading.model_copy(update={"announced": None}) if reading.announced else reading


def _new_table(reading: BandwidthReading, update: dict[str, object]) -> BandwidthReading:
    """Turn to another table; one that is still open never ends."""
    unended = (reading.unended or 0) + bool(reading.open)
    return reading.model_copy(
        update={**_NO_AVERAGE, **update, "table_counts": None, "begun": True, "open": None, "unended": unended or None}
    )


def _take_ranks(reading: BandwidthReading, lines: Sequence[Hit], wanted: Wanted) -> BandwidthReading:
    for ranks in programs(lines):
        if ranks[0][0] == 0:
            reading = _announced(reading, _RANKS, wanted)
        reading = take_ranks(reading, ranks)
    return reading


def _take_footer(reading: BandwidthReading, marker: Hit) -> BandwidthReading:
    """Take a line of the footer in: the average is its last one in every version, and ends the table."""
    wrong, average = marker.integer("wrong"), number_of(marker.text("average"))
    if wrong is not None:
        return reading.model_copy(update={"out_of_bounds": (reading.out_of_bounds or 0) + wrong})
    reading = reading.model_copy(update={"open": None})
    average = average if average is not None and 0 <= average < LARGEST_BANDWIDTH else None
    unended = (reading.unended or 0) + _lacks_rows(reading, average)
    printed = {} if average is None else {"printed_average": round(average, 6)}
    return reading.model_copy(update={**_NO_AVERAGE, **printed, "unended": unended or None})


def _lacks_rows(reading: BandwidthReading, average: float | None) -> bool:
    """Tell whether the rows of a table do not make the average of its footer, which is that of both placements.

    Rows that were torn beyond recognition show in nothing else; one that is not missed is as fast as the average. An
    average that cannot be read, None, proves no rows.
    Before wrong values were counted the footer's average was that of all threads, and the rows were those of one; a
    header that cannot be read does not say that it was so.
    """
    of_threads = bool(reading.columns) and not counts_wrong(reading.columns or ())
    if not reading.bus_count or reading.unread or of_threads:
        return False
    if average is None:
        return True
    difference = abs((reading.bus_sum or 0) / reading.bus_count - average)
    return difference > PRINTED_GBPS + _PRINTED_SHARE * average
