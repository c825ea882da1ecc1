"""One piece of a log: which of its lines are new, how far it has been read, and its text in a form to search.

Reading is exact: lines are told apart by their timestamps, counted where timestamps repeat, and a line that may not be
complete yet is left for the next time. What carries no timestamps is no log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.observed import Log
from sync_hooks.api.sync import Unreadable
from sync_hooks.measurements.stamp import moment_of, nanoseconds, stamp_of, whole_second

PAGE_BYTES = 8 << 20  # what one request for logs returns at most
_MOST_DOUBLINGS = 2  # 32 MiB for one second of log; more is not held in memory
_LONGEST_WORDS = 200  # of what came instead of a log, in a message
_SETTLED = timedelta(seconds=2)  # a line older than this has been written to its end

_COLOURS = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")


@dataclass(frozen=True, slots=True)
class Window:
    """The new lines of a page. ``last`` tells that no more will come: the log has ended and was read to its end.

    ``stuck`` tells that nothing of the page can be read: one second of the log is larger than the page, or a page that
    was cut carries no timestamps. ``gap`` tells that the line read last is not there any more: rotation may have taken
    others behind it, and where nothing is there at the end, nobody knows what was.
    """

    lines: bytes
    last: bool = False
    stuck: bool = False
    gap: bool = False


def received(content: bytes, limit_bytes: int) -> Log | Unreadable:
    """Take the answer to a request for a log with timestamps for the log, unless it bears none.

    A kubelet whose container is gone, or whose container runtime is down, says so in a sentence, with status 200.
    """
    content = content[:limit_bytes]
    if content and not _is_stamped(content):
        words = content[:_LONGEST_WORDS].decode(errors="replace").split()
        return Unreadable(f"what came is no log: {' '.join(words)}")
    return Log(content=content, truncated=len(content) >= limit_bytes)


def page_bytes(cursor: LogCursor) -> int:
    """Return how large the next page should be."""
    return PAGE_BYTES << min(cursor.page_doublings or 0, _MOST_DOUBLINGS)


def since(cursor: LogCursor) -> str | None:
    """Return from which second on the next page should start; None for the beginning of the log."""
    return whole_second(cursor.last_line_time) if cursor.last_line_time else None


def new_lines(cursor: LogCursor, log: Log, *, ended: bool, now: datetime) -> Window:
    """Return the lines of a page that have not been read yet; ``ended`` says that nothing is written any more."""
    content = log.content
    last = ended and not log.truncated
    end = len(content) if last else _settled_end(content, now, cut=log.truncated)
    if not _is_stamped(content):
        return Window(b"", last=last, stuck=log.truncated, gap=last and is_lost(cursor, log))
    found = _resume(cursor, content)
    start = min(_first_later(content, cursor) if found is None else found, end)
    gap = found is None and (last or start < end)
    return Window(content[start:end], last=last, stuck=log.truncated and start == end, gap=gap)


def is_lost(cursor: LogCursor, log: Log) -> bool:
    """Tell whether a page shows neither the line read last nor a later one, and no other page would.

    Rotation may have taken it a moment ago, but then later lines will come; or what came is not what was read before.
    """
    if cursor.last_line_time is None or log.truncated:
        return False
    return _resume(cursor, log.content) is None and _first_later(log.content, cursor) == len(log.content)


def advance(cursor: LogCursor, lines: bytes) -> LogCursor:
    """Move a cursor behind lines that have been read."""
    stamp, count = _last_stamp(lines)
    first = cursor.first_line_time or _text(_first_stamp(lines))
    if stamp is None:
        return cursor
    if stamp.decode() == cursor.last_line_time:
        count += cursor.lines_at_last_time or 0
    return LogCursor(first_line_time=first, last_line_time=stamp.decode(), lines_at_last_time=count)


def widen(cursor: LogCursor) -> LogCursor | None:
    """Ask for a larger page next time; None where the largest did not do."""
    doublings = cursor.page_doublings or 0
    return cursor.model_copy(update={"page_doublings": doublings + 1}) if doublings < _MOST_DOUBLINGS else None


def readable(lines: bytes) -> bytes:
    """Bring lines into the form that is searched: valid UTF-8, ended by line feeds, without colours."""
    if b"\r" in lines and b"\r\n" in lines:  # one byte is sought ten times as fast as two
        lines = lines.replace(b"\r\n", b"\n")
    if b"\x1b" in lines:
        lines = _COLOURS.sub(b"", lines)
    try:
        lines.decode()
    except UnicodeDecodeError:
        lines = lines.decode(errors="replace").encode()
    return lines


def _settled_end(content: bytes, now: datetime, *, cut: bool) -> int:
    """Find the end of the lines that will not change: complete ones, without a last one that is being written."""
    end = content.rfind(b"\n") + 1
    if cut or not end:
        return end
    start = content.rfind(b"\n", 0, end - 1) + 1
    written = moment_of(stamp_of(content, start))
    return start if written is not None and now - written < _SETTLED else end


def _is_stamped(content: bytes) -> bool:
    return _first_stamp(content) is not None


def _first_stamp(content: bytes) -> bytes | None:
    """Return the first timestamp; lines before it are the rest of one whose beginning is gone."""
    start = 0
    for _ in range(100):  # a log of the kubelet's has one on every line: more tries would only cost time
        stamp = stamp_of(content, start)
        start = content.find(b"\n", start) + 1
        if stamp or not start:
            return stamp
    return None


def _resume(cursor: LogCursor, content: bytes) -> int | None:
    """Find where reading goes on: behind the last line read; None where that line is gone."""
    if cursor.last_line_time is None:
        return 0
    stamp = cursor.last_line_time.encode()
    start = _line_with(content, stamp, 0)
    if start is None:
        return None
    for _ in range((cursor.lines_at_last_time or 1) - 1):
        following = _line_with(content, stamp, start + 1)
        if following is None:
            break
        start = following
    return _next_stamped(content, start)


def _line_with(content: bytes, stamp: bytes, position: int) -> int | None:
    """Find the next line that begins with a timestamp."""
    if position == 0 and stamp_of(content) == stamp:
        return 0
    found = content.find(b"\n" + stamp, max(position - 1, 0))
    while found >= 0 and stamp_of(content, found + 1) != stamp:
        found = content.find(b"\n" + stamp, found + 1)
    return found + 1 if found >= 0 else None


def _next_stamped(content: bytes, line_start: int) -> int:
    """Find the next line with a timestamp: what stands between belongs to the line before."""
    while (end := content.find(b"\n", line_start)) >= 0:
        line_start = end + 1
        if stamp_of(content, line_start):
            return line_start
    return len(content)


def _first_later(content: bytes, cursor: LogCursor) -> int:
    """Find the first line that is later than the last one read."""
    instant = nanoseconds((cursor.last_line_time or "").encode()) or 0
    start = 0
    while start < len(content):
        stamp = stamp_of(content, start)
        if stamp and (nanoseconds(stamp) or 0) > instant:
            return start
        end = content.find(b"\n", start)
        if end < 0:
            break
        start = end + 1
    return len(content)


def _last_stamp(lines: bytes) -> tuple[bytes | None, int]:
    """Return the last timestamp and how many lines in a row carry it."""
    last: bytes | None = None
    count = 0
    end = len(lines)
    while end > 0:
        start = lines.rfind(b"\n", 0, end - 1) + 1
        stamp = stamp_of(lines, start)
        if stamp is not None:
            if last is not None and stamp != last:
                break
            last, count = stamp, count + 1
        end = start
    return last, count


def _text(stamp: bytes | None) -> str | None:
    return stamp.decode() if stamp else None


def gaps_note(gaps: int) -> str:
    """Say that lines of a log were lost between two looks."""
    return f"{gaps} times lines of the log were rotated away before they could be read"


def late_note(seconds: float) -> str:
    """Say how much later than its container a log begins."""
    return f"it begins {seconds:.0f} s later than its container"
