"""Virtual time: a heap of what happens when. Never sleeps, never looks at the clock of the machine."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from sync_hooks.api.time import rfc3339


class Timer:
    """Something that will happen; `cancel` makes it never happen."""

    __slots__ = ("_forget", "action", "idle", "when")

    def __init__(
        self, when: float, action: Callable[[], None], forget: Callable[[Timer], None], *, idle: bool = False
    ) -> None:
        self._forget = forget
        self.when = when
        self.action: Callable[[], None] | None = action
        self.idle = idle

    def cancel(self) -> None:
        """Forget the action; a timer that has fired or was cancelled is left alone."""
        if self.action is not None:
            self.action = None
            self._forget(self)


class Clock(Protocol):
    """What the driver needs of time; a live cluster's clock waits for real where the virtual one jumps."""

    @property
    def time(self) -> float:
        """Seconds since the clock started."""

    def now(self) -> datetime:
        """Return the time of day, UTC."""

    def stamp(self) -> str:
        """Return the time of day as the API server writes it, in whole seconds."""

    def schedule(self, delay: float, action: Callable[[], None], *, idle: bool = False) -> Timer:
        """Call ``action`` after ``delay`` seconds; ``idle`` says that it alone is no reason to go on."""


class VirtualClock:
    """A clock that jumps from one scheduled action to the next; equal times keep the order of scheduling.

    It starts at a whole second.
    """

    def __init__(self, start: datetime) -> None:
        self._start = start.replace(microsecond=0)
        self._heap: list[tuple[float, int, Timer]] = []
        self._scheduled = 0
        self._busy = 0
        self._stamp = (-1, "")
        self.time = 0.0

    @property
    def busy(self) -> int:
        """How many scheduled actions there are besides the idle ones."""
        return self._busy

    def now(self) -> datetime:
        """Return the time of day in the simulation."""
        return self._start + timedelta(seconds=self.time)

    def stamp(self) -> str:
        """Return the time of day as the API server writes it, in whole seconds."""
        second = math.floor(self.time)
        if second != self._stamp[0]:
            self._stamp = (second, rfc3339(self._start + timedelta(seconds=second)))
        return self._stamp[1]

    def schedule(self, delay: float, action: Callable[[], None], *, idle: bool = False) -> Timer:
        """Call ``action`` after ``delay`` virtual seconds (never earlier than now)."""
        timer = Timer(self.time + max(0.0, delay), action, self._forget, idle=idle)
        self._scheduled += 1
        self._busy += not idle
        heapq.heappush(self._heap, (timer.when, self._scheduled, timer))
        return timer

    def _forget(self, timer: Timer) -> None:
        """Keep the count of busy actions true when a timer is cancelled."""
        self._busy -= not timer.idle

    def next_time(self) -> float | None:
        """When the next action is due; None when nothing is scheduled."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def step(self, until: float = math.inf) -> bool:
        """Jump to the next action and do it; False when there is none until that time."""
        heap = self._heap
        while heap and (heap[0][0] <= until or heap[0][2].action is None):
            when, _, timer = heapq.heappop(heap)
            action, timer.action = timer.action, None
            if action is not None:  # else it was cancelled
                self._busy -= not timer.idle
                self.time = when
                action()
                return True
        return False

    def advance(self, seconds: float) -> None:
        """Do everything due within ``seconds`` and end up exactly there."""
        end = self.time + seconds
        while self.step(end):
            pass
        self.time = end
