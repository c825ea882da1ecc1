"""Which worker came last, and which one answers: told from process to process, by numbers that gunicorn counts up.

The numbers stand in memory that the first process and all workers share, each written whole by one process at a time.
"""

from __future__ import annotations

import mmap
from time import monotonic, sleep

LOOK_SECONDS = 0.05


class Succession:
    """Made before there are workers. A worker's age is its number: whoever has a higher one came later."""

    def __init__(self) -> None:
        self._ages = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("Q")

    def begin(self, age: int) -> None:
        """Note that a worker is about to be made."""
        self._ages[0] = age

    def take_over(self, age: int) -> None:
        """Note that a worker answers from now on."""
        self._ages[1] = age

    def is_followed(self, age: int) -> bool:
        """Tell whether another worker was made after this one: it is not the server that ends, only this worker."""
        return self._ages[0] > age

    def wait_for_successor(self, age: int, seconds: float) -> None:
        """Wait until a later worker answers, or no longer than some seconds."""
        end = monotonic() + seconds
        while self._ages[1] <= age and monotonic() < end:
            sleep(LOOK_SECONDS)
