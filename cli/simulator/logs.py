"""Container logs as the kubelet serves them, made only when somebody reads: lines spread over a run, stamped, cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sync_hooks.api.time import parse_rfc3339

STAMP_BYTES = 32  # stamp, blank and line end
ROTATE_BYTES = 10 << 20  # containerLogMaxSize: what was written before the last rotation cannot be read any more


@dataclass(frozen=True, slots=True)
class Output:
    """What one container prints: line i of n at ``start + seconds * (i + 1) / n``, the last words at ``end``."""

    lines: Sequence[str]
    start: datetime
    seconds: float
    end: datetime | None = None
    """When the container stopped, None while it runs."""
    last_words: str | None = None

    def time_of(self, index: int) -> datetime:
        """Return when a line is printed."""
        return self.start + timedelta(seconds=self.seconds * (index + 1) / len(self.lines))


def read(
    output: Output, now: datetime, *, since: str | None, tail_lines: int | None, limit_bytes: int
) -> tuple[bytes, bool]:
    """Serve a log request: the window since a moment, its last lines, and of that the first bytes.

    Returns the bytes, each line with its stamp, and whether ``limit_bytes`` cut them.
    """
    printed = _Printed(output, now)
    first, last = 0, printed.count
    moment = parse_rfc3339(since) if since else None
    if moment is not None:
        first = bisect_left(range(last), True, key=lambda index: printed.time_of(index) >= moment)
    if tail_lines is not None:
        first = max(first, last - tail_lines)
    content = b"".join(printed.stamped(printed.after_rotation(first), last))
    return content[:limit_bytes], len(content) > limit_bytes


class _Printed:
    """What a container has printed by now."""

    def __init__(self, output: Output, now: datetime) -> None:
        self._output = output
        until = now if output.end is None else min(now, output.end)
        size = len(output.lines)
        self._lines = bisect_left(range(size), True, key=lambda index: output.time_of(index) > until)
        ended = output.end is not None and output.end <= now
        self.count = self._lines + (ended and output.last_words is not None)

    def time_of(self, index: int) -> datetime:
        output = self._output
        return output.end if index >= self._lines and output.end is not None else output.time_of(index)

    def stamped(self, first: int, last: int) -> Iterator[bytes]:
        second, prefix = None, ""
        for index in range(first, last):
            moment = self.time_of(index)
            if (current := moment.replace(microsecond=0)) != second:
                second, prefix = current, moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
            text = self._output.lines[index] if index < self._lines else self._output.last_words
            yield f"{prefix}.{moment.microsecond:06d}000Z {text}\n".encode()

    def after_rotation(self, first: int) -> int:
        """Return the first line of the window that is still in the current file."""
        lines = self._output.lines[: self._lines]
        if 4 * sum(map(len, lines)) + STAMP_BYTES * len(lines) <= ROTATE_BYTES:
            return first  # no need to look closer: a character has at most four bytes
        written, rotated = 0, 0
        for index, line in enumerate(self.stamped(0, self.count)):
            if written + len(line) > ROTATE_BYTES:
                written, rotated = 0, index
            written += len(line)
        return max(first, rotated)
