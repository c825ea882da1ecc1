"""What the machine's memory allows at best: the floor below which no reader of bytes can come."""

from __future__ import annotations

from .rounds import Work, cpu_of

_TIMES = 20


def copy_seconds(size: int) -> Work:
    """Measure copying so many bytes from one place in memory to another."""
    source, target = bytes(size), bytearray(size)

    def copy() -> None:
        target[:] = source

    return cpu_of(copy, _TIMES)
