"""What may go wrong on purpose, drawn from a seed so that a failure is found again. Everything is off by default."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


class ProcessDied(BaseException):
    """The process of the driver ended here. No error that code could handle: a BaseException."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Switches; the odds are between 0 and 1 and are drawn once an occasion."""

    seed: int = 0
    stale_events: int = 0
    """The informers lag this many watch events behind, for at most ``stale_seconds``."""
    stale_seconds: float = 2.0
    reorder: bool = False
    """Events of different kinds overtake each other; those of one kind keep their order, as on a watch each."""
    repeat: float = 0.0
    """Odds that an event is told twice."""
    hook_error: float = 0.0
    """Odds that a hook call is answered with status 500 before the hook saw it."""
    answer_lost: float = 0.0
    """Odds that the hook did its work but the answer never arrived."""
    write_error: float = 0.0
    """Odds that a write of the driver is answered with 503 and did not happen."""
    write_lost: float = 0.0
    """Odds that a write of the driver happened but was answered with 503."""
    crash: float = 0.0
    """Odds that the driver dies at one of its steps: before a hook call, after it, or at any write."""
    crash_at: frozenset[int] = frozenset()
    """Numbers of the steps, counted from 1, at which the driver dies."""
    restart_seconds: float = 5.0
    """How long a dead driver stays away."""
    relapse: int = 0
    """How many watch events the next driver does not know yet, of every other kind: a server that lags lists those."""
    read_error: float = 0.0
    """Odds that a read of a hook fails."""
    unreadable: frozenset[str] = frozenset()
    """Types of reads that always fail: ``ReadLog``, ``ListPods``."""


@dataclass(slots=True)
class Dice:
    """The state behind `Faults`: the random numbers and how many steps there were."""

    faults: Faults = Faults()
    steps: int = 0
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.faults.seed)  # noqa: S311 - repeatable on purpose

    def hits(self, odds: float) -> bool:
        """Draw once; odds of 0 draw nothing, so that switching one fault on leaves the others' draws alone."""
        return odds > 0 and self._random.random() < odds

    def step(self) -> None:
        """Pass one step of the driver; raises ProcessDied where it was to die."""
        self.steps += 1
        if self.steps in self.faults.crash_at or self.hits(self.faults.crash):
            raise ProcessDied

    def shuffled(self, items: list[T]) -> list[T]:
        """Return the items in a drawn order."""
        return self._random.sample(items, len(items))
