"""The list of ranks that a program of nccl-tests prints above its table, taken into a reading. Judges nothing.

Many lines are taken at once: a reading is a value, and one of its own for each of ten thousand ranks takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.measurements.pattern import Hit

_MOST_RANKS = 10**6
_MOST_HOSTS = 1000  # whose ranks are counted; a reading is kept in a status

Ranks = tuple[tuple[int, str], ...]
"""Ranks of one program that follow each other, each with its host."""


def programs(lines: Sequence[Hit]) -> Iterator[Ranks]:
    """Tell the programs apart whose ranks follow each other: every one lists its ranks from 0."""
    ranks = [_rank(line) for line in lines]
    starts = [0, *(index for index, (rank, _) in enumerate(ranks) if index and rank == 0), len(ranks)]
    for start, end in pairwise(starts):
        if start < end:
            yield tuple(ranks[start:end])


def _rank(line: Hit) -> tuple[int, str]:
    rank = min(line.integer("rank") or 0, _MOST_RANKS)
    return rank, (line.text("host") or b"").decode(errors="replace")[:253]


def take_ranks(reading: BandwidthReading, ranks: Ranks) -> BandwidthReading:
    """Take in ranks of one program: a new one where they begin with rank 0, else that of the reading."""
    number, host = ranks[0]
    new = number == 0
    apart = new and reading.first_host not in (None, host)
    first = host if new else reading.first_host or host
    on_first = 0 if new else reading.first_host_ranks or 0
    return reading.model_copy(
        update={
            "begun": True,
            "apart": reading.apart or apart or None,
            "ranks": max(0 if new else reading.ranks or 0, 1 + max(rank for rank, _ in ranks)),
            "first_host": first,
            "first_host_ranks": on_first + sum(host == first for _, host in ranks),
            "host_ranks": _counted({} if new else reading.host_ranks or {}, ranks),
            "several_hosts": bool(reading.several_hosts) or any(host != first for _, host in ranks),
        }
    )


def _counted(known: dict[str, int], ranks: Ranks) -> dict[str, int]:
    counts = dict(known)
    for _, host in ranks:
        if host in counts or len(counts) < _MOST_HOSTS:
            counts[host] = counts.get(host, 0) + 1
    return counts
