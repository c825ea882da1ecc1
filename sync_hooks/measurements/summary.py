"""A bandwidth reading as the status shows it: results, figures, wrong values, and what a reader should know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sync_hooks.api.bandwidthmeasurement import BandwidthReading, BandwidthResult, BandwidthSummary, SizeSums
from sync_hooks.measurements.doubts import factor_note, others_note
from sync_hooks.measurements.network import fell_back, unused_note
from sync_hooks.measurements.page import gaps_note
from sync_hooks.measurements.ranks import count_note
from sync_hooks.measurements.tally import MOST_SIZES, Wanted

_DIGITS = 4  # of a mean; printed values have two


def shown(reading: BandwidthReading, wanted: Wanted) -> dict[str, object]:
    """Return the status fields that follow from a reading."""
    sizes = reading.sizes or []
    networks = sorted({*(reading.networks or ()), *(reading.channels or ())})
    return {
        "results": [_result(item) for item in sizes] or None,
        "summary": _summary(sizes, reading.printed_average),
        "wrong_count": wrong_count(reading),
        "transport": networks or None,
        "socket_fallback": fell_back(reading),
        "ranks": reading.fewest_ranks or reading.ranks,
        "ranks_on_first_host": reading.first_host_ranks,
        "rank_spread": reading.spread,
        "several_hosts": reading.several_hosts,
        "ranks_apart": reading.apart,
        "notes": list(_notes(reading, wanted)) or None,
        "rows_seen": rows_seen(reading) or None,
    }


def rows_seen(reading: BandwidthReading | None) -> int:
    """Return how many rows count."""
    return sum(item.rows for item in reading.sizes or ()) if reading else 0


def wrong_count(reading: BandwidthReading) -> int | None:
    """Return the wrong values of all rows, else what the footers say; None where nothing was checked.

    A row that could not be read is not believed against footers that know of no wrong values.
    """
    counts = [item.wrong for item in reading.sizes or () if item.wrong is not None]
    counted = sum(counts) + (0 if reading.out_of_bounds == 0 else reading.unread_wrong or 0)
    if counted or reading.out_of_bounds:
        return counted or reading.out_of_bounds
    return 0 if counts else None  # a footer says 0 also where nothing was checked


def _result(item: SizeSums) -> BandwidthResult:
    return BandwidthResult(
        size_bytes=item.size_bytes,
        alg_bandwidth_g_bps=_mean(item.alg, item.rows),
        bus_bandwidth_g_bps=_mean(item.bus, item.rows),
        samples=item.rows,
        wrong=item.wrong,
    )


def _summary(sizes: Sequence[SizeSums], printed_average: float | None) -> BandwidthSummary | None:
    if not sizes:
        return None
    largest = max(sizes, key=lambda item: item.size_bytes)
    return BandwidthSummary(
        peak_bus_bandwidth_g_bps=max(_mean(item.bus, item.rows) for item in sizes),
        at_largest_bus_bandwidth_g_bps=_mean(largest.bus, largest.rows),
        printed_average_bus_bandwidth_g_bps=printed_average,
        peak_alg_bandwidth_g_bps=max(_mean(item.alg, item.rows) for item in sizes),
    )


def _mean(total: float, count: int) -> float:
    return round(total / count, _DIGITS)


def _notes(reading: BandwidthReading, wanted: Wanted) -> Iterator[str]:
    if text := others_note(reading, wanted):
        yield text
    if reading.unread:
        yield f"{reading.unread} rows of the table could not be read"
    if reading.unchecked:
        yield f"the test did not check the results of {reading.unchecked} rows"
    if reading.left_out:
        yield f"{reading.left_out} rows of sizes beyond the first {MOST_SIZES} are left out"
    if reading.gaps:
        yield gaps_note(reading.gaps)
    if len(reading.data_types or ()) > 1:
        yield f"rows of several types are averaged: {', '.join(reading.data_types or ())}"
    elif text := _repeated(reading.sizes or ()):
        yield text
    if reading.uneven:
        yield f"{reading.uneven} rows show less than half, or more than twice, of what others of their size do"
    if text := unused_note(reading):
        yield text
    if text := count_note(reading.fewest_ranks or reading.ranks, wanted.ranks):
        yield text
    if text := factor_note(reading, wanted, wanted.ranks):
        yield text


def _repeated(sizes: Sequence[SizeSums]) -> str:
    """Say that sizes were measured more than once; rows of 0 bytes are printed for every size that is too small."""
    repeated = [item.rows for item in sizes if item.rows > 1 and item.size_bytes]
    if not repeated:
        return ""
    return f"{len(repeated)} sizes were measured up to {max(repeated)} times: each figure is the mean of its rows"
