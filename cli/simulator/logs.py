"""Container logs as the kubelet serves them, made only when somebody reads: lines spread over a run, stamped, cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sync_hooks.api.time import parse_rfc3339

ROTATE_BYTES = 10 << 20  # containerLogMaxSize: what was written before the last rotation cannot be read any more


@dataclass(frozen=True, slots=True)
class Output:
    """What one container prints: line i of n at ``start + seconds * (i + 1) / n``; ``end`` is when it stopped."""

    lines: Sequence[str]
    start: datetime
    seconds: float
    end: datetime | None = None

    def time_of(self, index: int) -> datetime:
        """When a line is printed."""
        return self.start + timedelta(seconds=self.seconds * (index + 1) / len(self.lines))

    def printed(self, now: datetime) -> int:
        """How many lines there are by now."""
        until = now if self.end is None else min(now, self.end)
        return bisect_left(range(len(self.lines)), True, key=lambda index: self.time_of(index) > until)


def read(
    output: Output, now: datetime, *, since: str | None, tail_lines: int | None, limit_bytes: int
) -> tuple[bytes, bool]:
    """Serve a log request: the window since a moment, its last lines, and of that the first bytes.

    Returns the bytes, each line with its stamp, and whether ``limit_bytes`` cut them.
    """
    first, last = 0, output.printed(now)
    moment = parse_rfc3339(since) if since else None
    if moment is not None:
        first = bisect_left(range(last), True, key=lambda index: output.time_of(index) >= moment)
    if tail_lines is not None:
        first = max(first, last - tail_lines)
    kept = _after_rotation(output, first, last)
    content = b"".join(_stamped(output, index) for index in range(kept, last))
    return content[:limit_bytes], len(content) > limit_bytes


def _after_rotation(output: Output, first: int, last: int) -> int:
    """Return the first line that is still in the current file."""
    if sum(map(len, output.lines[:last])) + 32 * last <= ROTATE_BYTES:  # the sum is a bound: characters, not bytes
        return first
    written, rotated = 0, 0
    for index in range(last):
        size = len(_stamped(output, index))
        if written + size > ROTATE_BYTES:
            written, rotated = 0, index
        written += size
    return max(first, rotated)


def _stamped(output: Output, index: int) -> bytes:
    moment = output.time_of(index).astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond * 1000:09d}Z {output.lines[index]}\n".encode()
