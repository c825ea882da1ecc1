"""Readings of tables with a shipped profile, and rows in the parts in which they are printed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sync_hooks.api.bandwidthmeasurement import BandwidthReading, BandwidthSummary
from sync_hooks.measurements.nccl import read_table
from sync_hooks.measurements.summary import shown
from sync_hooks.measurements.tally import Wanted
from tests.sync_hooks.measurements.tables import RANKS, SWEEP, Result, placement, row
from tests.sync_hooks.measurements.worlds import profile, stamped

ALL_REDUCE = Wanted("all_reduce", RANKS)
LARGE = Result(1 << 30, alg=250.0, in_place=240.0)
MESSAGE = "gpu-0000:311:342 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
WARNING = "gpu-0000:311:342 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed"


def read(lines: Sequence[str] | bytes, wanted: Wanted = ALL_REDUCE, using: str = "nccl-bandwidth") -> BandwidthReading:
    text = lines if isinstance(lines, bytes) else stamped(lines)
    return read_table(BandwidthReading(), text, profile(using), wanted)


def summary(reading: BandwidthReading) -> BandwidthSummary | None:
    value = shown(reading, ALL_REDUCE)["summary"]
    assert value is None or isinstance(value, BandwidthSummary)
    return value


def results(reading: BandwidthReading) -> list[tuple[int, float, float]]:
    return [(item.size_bytes, item.alg / item.rows, item.bus / item.rows) for item in reading.sizes or ()]


def expected(sweep: Sequence[Result] = SWEEP, factor: float = 1.875) -> list[tuple[int, float, float]]:
    return [(item.size, item.alg, round(item.alg * factor, 2)) for item in sweep]


def head_and_rest(result: Result = LARGE) -> tuple[str, str, str]:
    """The three parts in which a row is printed."""
    text = row(result)
    outs = placement(result.size, result.alg, result.last)
    ins = placement(result.size, result.in_place, result.in_place_last)
    head = text[: text.index(outs.strip())]
    return head.rstrip(), outs, ins


HEAD, OUT, IN = head_and_rest(dataclasses.replace(LARGE, in_place_last="5"))
