"""A controller's work queue: a key is there once however often it is asked for, and worked on once at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from cli.simulator.clock import Clock, Timer

K = TypeVar("K")

FIRST_RETRY_SECONDS = 0.005
LONGEST_RETRY_SECONDS = 1000.0


class WorkQueue(Generic[K]):
    """Keys to work on. ``wake`` is called whenever one becomes ready; whoever takes a key must say `done`."""

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._processing: set[K] = set()
        self._later: dict[K, Timer] = {}
        self._failures: dict[K, int] = {}

    @property
    def processing(self) -> int:
        """How many keys are being worked on."""
        return len(self._processing)

    def add(self, key: K) -> None:
        """Ask for a key; one that is being worked on is done again afterwards."""
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._processing:
            self._ready.append(key)
            self._wake()

    def add_after(self, key: K, delay: float) -> None:
        """Ask for a key in ``delay`` seconds; of several such wishes the earliest counts, and `add` cancels none."""
        if delay <= 0:
            self.add(key)
            return
        planned = self._later.get(key)
        if planned is not None:
            if planned.when <= self._clock.time + delay:
                return
            planned.cancel()
        self._later[key] = self._clock.schedule(delay, lambda: self._due(key))

    def retry(self, key: K) -> None:
        """Ask for a key after a failure: 5 ms, doubled each time, at most 1,000 s."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        exponent = min(failures, 32)  # far beyond the longest delay already
        self.add_after(key, min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2**exponent))

    def forget(self, key: K) -> None:
        """End the series of failures of a key."""
        self._failures.pop(key, None)

    def take(self) -> K | None:
        """Take the next key to work on, None when there is none."""
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._processing.add(key)
        return key

    def done(self, key: K) -> None:
        """Finish a key; it is ready again at once if it was asked for in between."""
        self._processing.discard(key)
        if key in self._dirty:
            self._ready.append(key)
            self._wake()

    def clear(self) -> None:
        """Forget everything, as a process that ended."""
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()
        self._ready.clear()
        self._dirty.clear()
        self._processing.clear()
        self._failures.clear()

    def _due(self, key: K) -> None:
        del self._later[key]
        self.add(key)
