"""What the machine's memory allows at best, the floor for readers of bytes; and the most that this process has had."""

from __future__ import annotations

import re
from pathlib import Path

from .rounds import Work, cpu_of

_TIMES = 20


def copy_seconds(size: int) -> Work:
    """Measure copying so many bytes from one place in memory to another."""
    source, target = bytes(size), bytearray(size)

    def copy() -> None:
        target[:] = source

    return cpu_of(copy, _TIMES)


def peak_mib() -> float:
    """Return the most memory that this process has had (Linux).

    Not by getrusage, whose maximum a process takes over from the one that has started it.
    """
    found = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[0]) / 1024
