"""Rows that were torn apart in a log, put together again where their numbers prove that they belong together.

A row is printed in parts (the size, the result out of place, the one in place), and messages of NCCL and others, from
other threads and processes, come between: behind a part on its line, or on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sync_hooks.measurements.rows import METRIC, Columns, RowLine, adds_up, is_whole, metric_names, row_of
from sync_hooks.measurements.stamp import text_start

# A host begins where its word does: tried from everywhere in a long one, a line would take time by its square.
_MESSAGE = re.compile(
    rb"(?:\[[^\]\n]{1,40}\] )?(?<![\w.-])(?P<host>[\w.-]{1,300}):\d{1,10}:\d{1,10} (?:\[\d{1,10}\] )?"
    rb"(?:[^\n]{0,200}? )?NCCL (?:INFO|WARN|TRACE|CALL) "
)
_NCCL = b"NCCL "
_GLUED = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]\d+)?(?=[A-Za-z])")
_TAG = re.compile(rb"\[\d+,\d+\]<std(?:out|err)>:")  # mpirun --tag-output
MOST_LINES_BETWEEN = 500  # behind more the rest of a row is taken for lost


def mend(lines: bytes, rows: Mapping[int, RowLine]) -> bytes:
    """Put torn rows together, each on one line. ``rows`` are the lines that hold the beginning of one, by their start.

    The lines are returned as they are where nothing was torn, or nothing fits.
    """
    pieces: list[bytes] = []
    position = 0
    for start, line in rows.items():
        good = line.whole and _NCCL not in line.text
        mended = None if good or start < position else _mended(lines, start, line.columns)
        if mended is not None:
            row, end = mended
            pieces += [lines[position:start], row, b"\n"]
            position = end
    return b"".join([*pieces, lines[position:]]) if pieces else lines


def is_open(lines: bytes, start: int, columns: Columns) -> bool:
    """Tell whether the rest of a torn row may come after the lines read so far."""
    line, end = _line(lines, start)
    row = row_of(_without_message(line), columns)
    if row is None or is_whole(row, columns):
        return False
    between = list(_between(lines, end))
    return len(between) < MOST_LINES_BETWEEN and not any(_ends_row(following) for following, _ in between)


def _mended(lines: bytes, start: int, columns: Columns) -> tuple[bytes, int] | None:
    """Return a torn row on one line and where the lines go on; None where nothing was torn or nothing fits."""
    line, end = _line(lines, start)
    text = _without_message(line)
    row = row_of(text, columns)
    if row is None or (is_whole(row, columns) and text == line):
        return None
    for following, following_end in _between(lines, end):
        if len(row.metrics) >= len(metric_names(columns)) or _ends_row(following):
            break
        part = _without_message(following)
        words = part.split()
        if words and all(map(METRIC.match, words)):
            text, end = text + b" " + part, following_end
            row = row_of(text, columns) or row
    return (text, end) if is_whole(row, columns) and adds_up(row, columns) else None


def _line(lines: bytes, start: int) -> tuple[bytes, int]:
    """Return the application's text of a line, and where the next line begins."""
    end = lines.find(b"\n", start)
    end = len(lines) if end < 0 else end
    return lines[text_start(lines, start) : end], min(end + 1, len(lines))


def _between(lines: bytes, position: int) -> Iterator[tuple[bytes, int]]:
    """Go through the lines among which the rest of a row may stand, each with where the next begins."""
    for _ in range(MOST_LINES_BETWEEN):
        if position >= len(lines):
            return
        line, position = _line(lines, position)
        yield _TAG.sub(b"", line), position


def _ends_row(line: bytes) -> bool:
    """Tell whether a line shows that a row before it is over: another row, or the table's footer."""
    return row_of(line, ()) is not None or line.lstrip().startswith(b"#")


def _without_message(line: bytes) -> bytes:
    """Cut a message off the end of a part of a row. A number glued to the host's name stays."""
    message = _MESSAGE.search(line) if _NCCL in line else None
    if message is None:
        return line
    glued = _GLUED.match(message.group("host"))
    before = line[: message.start()]
    return before + message.group("host")[: glued.end()] if glued and before.strip() else before
