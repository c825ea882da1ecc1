"""The loop of a stand-in controller: a key is looked at soon after something happened to it, again when that failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from cli.simulator.clock import Clock
from cli.simulator.errors import ApiError

K = TypeVar("K")

REACTION_SECONDS = 0.1  # from an event to the controller's writes
FIRST_RETRY_SECONDS = 0.2
LONGEST_RETRY_SECONDS = 60.0


class Loop(Generic[K]):
    """Calls ``reconcile`` once for all pokes of ``reaction`` seconds; an ApiError is tried again, later each time."""

    def __init__(self, clock: Clock, reconcile: Callable[[K], None], *, reaction: float = REACTION_SECONDS) -> None:
        self._clock = clock
        self._reconcile = reconcile
        self._reaction = reaction
        self._planned: set[K] = set()
        self._failures: dict[K, int] = {}

    def poke(self, key: K) -> None:
        """Look at a key soon."""
        self._plan(key, self._reaction)

    def _plan(self, key: K, delay: float) -> None:
        if key not in self._planned:
            self._planned.add(key)
            self._clock.schedule(delay, lambda: self._run(key))

    def _run(self, key: K) -> None:
        self._planned.discard(key)
        try:
            self._reconcile(key)
        except ApiError:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self._plan(key, min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(failures, 16)))
        else:
            self._failures.pop(key, None)
