"""Why a bandwidth reading may not stand for the whole test. Decides nothing: a figure with a doubt is still shown.

A table of nccl-tests begins with its ranks, its name or its header and ends with a footer, in every version; a log that
lacks one of them has lost rows. The average is the last line of the footer's two: only with it a table is whole. Tables
of other programs are not asked for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sync_hooks.api.bandwidthmeasurement import BandwidthReading, SizeSums
from sync_hooks.measurements.collective import Collective, bus_factor, collective
from sync_hooks.measurements.page import gaps_note
from sync_hooks.measurements.tally import MOST_SIZES, Wanted, may_count

_FACTOR_TOLERANCE = 0.02  # of busbw / algbw, both printed with two decimals
_EXACT_ENOUGH_GBPS = 1.0  # below it two decimals are too few to compare


def doubts(reading: BandwidthReading, wanted: Wanted) -> Iterator[str]:
    """Say what is missing of a finished log's tables, or is not understood; nothing where no row counts."""
    if not reading.sizes:
        return
    if reading.unread:
        yield f"{reading.unread} rows of the table could not be read"
    if reading.headless:
        yield "the table has no header: the beginning of the log is missing"
    if missing := (reading.unended or 0) + bool(reading.open):
        tables = "the table is" if missing == 1 else f"{missing} tables are"
        yield f"{tables} not whole: the footer, or lines before it, are missing"
    if unfilled := (reading.unfilled or 0) + (bool(reading.announced) and may_count(reading.table, wanted)):
        tests = "a test" if unfilled == 1 else f"{unfilled} tests"
        yield f"{tests} began and did not come to a first result: the log has the beginning of a table without rows"
    if reading.gaps:
        yield gaps_note(reading.gaps)
    if not wanted.test and (text := others_note(reading, wanted)):
        yield text
    if reading.left_out:
        yield f"{reading.left_out} rows of sizes beyond the first {MOST_SIZES} are left out"
    yield from _unexplained(reading, wanted)


def _unexplained(reading: BandwidthReading, wanted: Wanted) -> Iterator[str]:
    """Doubt bandwidths that fit neither the ranks that were to run nor those that the log lists, if others."""
    text = factor_note(reading, wanted, wanted.ranks)
    if text and (reading.fewest_ranks in (None, wanted.ranks) or factor_note(reading, wanted, reading.fewest_ranks)):
        yield text


def others_note(reading: BandwidthReading, wanted: Wanted) -> str:
    """Say which rows do not count: somebody's choice where the test has a name, else a doubt. Empty where all count."""
    others = ", ".join(reading.others or ())
    if others and wanted.test:
        return f"rows of {others} do not count: {wanted.test} is measured"
    return (
        f"rows of {others} are left out: only the first collective counts where testType names none" if others else ""
    )


def factor_note(reading: BandwidthReading, wanted: Wanted, ranks: int | None) -> str:
    """Compare bus and algorithm bandwidth of the largest size with what the collective and its ranks make of it.

    Empty where they agree, or where nothing can be compared.
    """
    item = collective(wanted.test or (reading.kind or "").split(" ")[0])
    return _compared(reading.sizes or (), item, ranks) if item and ranks else ""


def _compared(sizes: Sequence[SizeSums], item: Collective, ranks: int) -> str:
    largest = max(sizes, key=lambda known: known.size_bytes, default=None)
    if largest is None or largest.alg / largest.rows < _EXACT_ENOUGH_GBPS:
        return ""
    printed, expected = largest.bus / largest.alg, bus_factor(item, ranks)
    if abs(printed - expected) <= _FACTOR_TOLERANCE * max(expected, 1):
        return ""
    return (
        f"bus bandwidth is {printed:.3f} times algorithm bandwidth at {largest.size_bytes} bytes; "
        f"{item.name} over {ranks} ranks makes it {expected:.3f}"
    )
