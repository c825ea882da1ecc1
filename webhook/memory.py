"""Tells the C library to give memory back that large bodies took, where it is GNU's; elsewhere nothing is done."""

from __future__ import annotations

import ctypes

ARENAS = 2  # instead of eight a processor: what a thread has freed is of no use to the others in its own
MAPPED_BYTES = 512 << 10  # from here on memory is given back as soon as it is free; the library moves this up otherwise

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # mallopt(3)


def give_back_early() -> None:
    """Set both bounds; called before there are threads.

    Without it 64 large bodies at a time, again and again, leave twice as much in memory as they ever took.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, ARENAS)
        mallopt(_MMAP_THRESHOLD, MAPPED_BYTES)
