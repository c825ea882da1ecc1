"""Rounds: product and references take turns, so that a moment of a busy machine hits both; medians are kept."""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

ROUNDS = 5

Work = Callable[[], float]
"""Does something once and returns what it cost, in any unit."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """What each party cost in each round, in the order of the rounds."""

    costs: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Return the median of a party's rounds."""
        return statistics.median(self.costs[name])

    def ratio(self, name: str, reference: str) -> float:
        """Return the median of a party's rounds, each divided by the reference's same round."""
        pairs = zip(self.costs[name], self.costs[reference], strict=True)
        return statistics.median(own / max(other, 1e-9) for own, other in pairs)


def alternate(parties: Mapping[str, Work], rounds: int = ROUNDS) -> Rounds:
    """Let the parties take turns; a first turn of each that warms caches counts nothing."""
    for work in parties.values():
        work()
    costs: dict[str, list[float]] = {name: [] for name in parties}
    for number in range(rounds):
        for name in in_turn(parties, number):
            costs[name].append(parties[name]())
    return Rounds(costs)


def in_turn(names: Iterable[str], number: int) -> list[str]:
    """Order the parties of a round: every other one backwards, so that nobody always comes after the same one."""
    return list(names)[:: 1 if number % 2 == 0 else -1]


def cpu_of(work: Callable[[], Any], times: int = 1) -> Work:
    """Measure the CPU seconds of one call within this process, as the mean of ``times`` in a row."""

    def measured() -> float:
        gc.collect()
        started = process_time()
        for _ in range(times):
            work()
        return (process_time() - started) / times

    return measured


def cpu_of_command(
    command: Sequence[str], environment: Mapping[str, str] | None = None, codes: Sequence[int] = (0,)
) -> Work:
    """Measure the CPU seconds of a process, user and system; raises RuntimeError where it ends with another code."""

    def measured() -> float:
        before = _children_seconds()
        done = subprocess.run(list(command), env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
        return _children_seconds() - before

    return measured


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
