"""One row of a bandwidth table, taken into the sums or left out.

Which rows count is decided one by one: by the name above the table where there is one, else by what the row shows of
its collective. Out of place counts; wrong values count from both placements. Never taken is a row whose numbers
contradict each other, or that the profile's pattern reads otherwise than the table's columns say.
"""

from __future__ import annotations

from dataclasses import dataclass

from sync_hooks.api.bandwidthmeasurement import BandwidthReading, RankSpread, SizeSums
from sync_hooks.measurements.clock import total
from sync_hooks.measurements.collective import TYPE_BYTES, UNEVEN, Shape, collective, describe, fits, shape
from sync_hooks.measurements.pattern import Hit
from sync_hooks.measurements.rows import (
    Pairs,
    Row,
    RowLine,
    bandwidths,
    is_one_placement,
    wrong_in,
    wrong_values,
)

LARGEST_BANDWIDTH = 1e6  # GB/s; more is a misread number
MOST_SIZES = 1000  # kept in a status; a sweep by steps can have more

_LEAST_COMPARED_GBPS = 1.0
_MOST_NAMED = 20  # kinds and types of rows in a note
_ANY = "?"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured: the test's name as the measurement's spec has it, and the number of its ranks."""

    test: str | None = None
    ranks: int | None = None


def take_row(reading: BandwidthReading, line: RowLine, result: Hit | None, wanted: Wanted) -> BandwidthReading:
    """Take a row in; ``result`` is the match of the profile's pattern, None where a row is not matched."""
    row = line.row
    looks = shape(row.size, row.count, row.type, row.reduction, row.root) if row else None
    reading, counts = _choose(reading, looks, wanted)
    if not counts and not (looks and looks.empty):
        return reading
    pairs = bandwidths(row, line.columns) if row else []
    if not counts:
        return reading.model_copy(update=_of_average(reading, pairs))
    values = _values(result) if result else None
    if values is None or (row is not None and not _is_sound(line, row, values, pairs, wanted)):
        return _leave_unread(reading, line)
    wrong = wrong_values(row, line.columns) if row else None
    update = {"table_counts": True, **_of_size(reading, *values, wrong)}
    if row is not None:
        update |= _of_table(reading, row, pairs)
        update["unchecked"] = (reading.unchecked or 0) + (wrong is None) or None
    return reading.model_copy(update=update)


def _leave_unread(reading: BandwidthReading, line: RowLine) -> BandwidthReading:
    """Count a row that gives no bandwidth; the wrong values that it reports are wrong all the same."""
    wrong = (reading.unread_wrong or 0) + wrong_in(line.text, line.columns)
    return reading.model_copy(
        update={"table_counts": True, "unread": (reading.unread or 0) + 1, "unread_wrong": wrong or None}
    )


def _of_table(reading: BandwidthReading, row: Row, pairs: Pairs) -> dict[str, object]:
    """Return what a row that counts adds to its table."""
    return {
        **({} if reading.open else _opened(reading)),
        **_of_average(reading, pairs),
        "data_types": _with(reading.data_types, f"{row.type} {row.reduction or ''}".strip()),
    }


def _of_average(reading: BandwidthReading, pairs: Pairs) -> dict[str, object]:
    """Return what a row adds to the average of its footer: so does one of no bytes, which shows nothing of its kind."""
    bus = [bus for _, bus in pairs if 0 <= bus < LARGEST_BANDWIDTH]
    return {"bus_sum": total(reading.bus_sum or 0.0, *bus), "bus_count": (reading.bus_count or 0) + len(bus)}


def _opened(reading: BandwidthReading) -> dict[str, object]:
    """Begin a table of nccl-tests, which prints what ranks it has, a header, and a footer; other programs need not."""
    known = [ranks for ranks in (reading.fewest_ranks, reading.ranks) if ranks]
    return {
        "open": True,
        "headless": reading.headless or not reading.begun or None,
        "fewest_ranks": min(known, default=None),
        "host_ranks": None,
        "spread": _more_uneven(reading.spread, _spread(reading)),
    }


def _spread(reading: BandwidthReading) -> RankSpread | None:
    """Return how the listed ranks are spread; None where lines of the list are missing."""
    counts = list((reading.host_ranks or {}).values())
    if not counts or sum(counts) != reading.ranks:
        return None
    return RankSpread(hosts=len(counts), fewest=min(counts), most=max(counts))


def _more_uneven(first: RankSpread | None, second: RankSpread | None) -> RankSpread | None:
    known = [spread for spread in (first, second) if spread is not None]
    return min(known, key=lambda spread: (spread.fewest == spread.most, spread.fewest, spread.hosts), default=None)


def may_count(table: str | None, wanted: Wanted) -> bool:
    """Tell whether rows of a table may be of the collective that is measured, by its name alone."""
    target, named = collective(wanted.test), collective(table)
    if target is not None:
        return named is None or named is target
    return not wanted.test or _word(table) == _word(wanted.test)


def _choose(reading: BandwidthReading, looks: Shape | None, wanted: Wanted) -> tuple[BandwidthReading, bool]:
    """Tell whether a row is of the collective that is measured, and remember what kind was left out."""
    target, named = collective(wanted.test), collective(reading.table)
    if target is None and wanted.test:
        counts = looks is None or _word(reading.table) == _word(wanted.test)
    elif target is None:
        kind = _merged_kind(reading.kind, _kind(named.name if named else reading.table, looks))
        counts = kind is not None
        reading = reading.model_copy(update={"kind": kind}) if kind else reading
    elif named is not None:
        counts = named is target
    else:
        counts = looks is None or fits(target, looks, wanted.ranks)
    if counts:
        return reading, True
    other = named.name if named else describe(looks) if looks else reading.table
    return reading.model_copy(update={"others": _with(reading.others, other)}), False


def _word(test: str | None) -> str | None:
    """Write the name of a test that is no known collective as it may be compared: without the program's suffix."""
    return test.strip().lower().replace("-", "_").removesuffix("_mpi").removesuffix("_perf") if test else None


def _kind(name: str | None, looks: Shape | None) -> str:
    """Four words that tell kinds of rows apart where no known test chooses."""
    words = [name.replace(" ", "_") if name else _ANY, _ANY, _ANY, _ANY]
    if looks is not None and name is None:
        words[1:3] = ["reducing" if looks.reduces else "plain", "rooted" if looks.rooted else "unrooted"]
        if looks.empty or looks.shares is not None:
            words[3] = "whole" if looks.shares == 1 else "shared"
    return " ".join(words)


def _merged_kind(first: str | None, kind: str) -> str | None:
    """Hold a row against the first kind, which counts; what that left open a row may settle. None for another kind."""
    if first is None:
        return kind
    pairs = list(zip(first.split(), kind.split(), strict=True))
    if any(old != new and _ANY not in (old, new) for old, new in pairs):
        return None
    return " ".join(new if old == _ANY else old for old, new in pairs)


def _values(result: Hit) -> tuple[int, float, float] | None:
    """Return size, algorithm and bus bandwidth as the profile's pattern reads them."""
    size, alg, bus = result.integer("size"), result.number("algBW"), result.number("busBW")
    if size is None or alg is None or bus is None or size < 0:
        return None
    if not (0 <= alg < LARGEST_BANDWIDTH and 0 <= bus < LARGEST_BANDWIDTH):
        return None
    return size, round(alg, 6), round(bus, 6)


def _is_sound(line: RowLine, row: Row, values: tuple[int, float, float], pairs: Pairs, wanted: Wanted) -> bool:
    """Tell whether a row is whole, its size is one, and the pattern reads it right.

    A size is a whole number of shares: one that lost its first digits is not. Bandwidths are where the table has them,
    and both of one placement.
    """
    target = collective(wanted.test)
    share = row.count * TYPE_BYTES[row.type]
    even = share == 0 or (row.size >= share and row.size % share == 0) or (target and target.name == UNEVEN)
    if not even or row.size != values[0] or not (line.whole or is_one_placement(row, line.columns)):
        return False
    return values[1:] in [(round(alg, 6), round(bus, 6)) for alg, bus in pairs]


def _of_size(reading: BandwidthReading, size: int, alg: float, bus: float, wrong: int | None) -> dict[str, object]:
    """Return the sums of a size with one row more."""
    sizes = list(reading.sizes or ())
    known = [item.size_bytes for item in sizes]
    if size not in known:
        if len(sizes) == MOST_SIZES:
            return {"left_out": (reading.left_out or 0) + 1}
        return {"sizes": [*sizes, SizeSums(size_bytes=size, alg=alg, bus=bus, rows=1, wrong=wrong)]}
    at = known.index(size)
    old = sizes[at]
    update = {"alg": total(old.alg, alg), "bus": total(old.bus, bus), "rows": old.rows + 1}
    if wrong is not None:
        update["wrong"] = (old.wrong or 0) + wrong
    sizes[at] = old.model_copy(update=update)
    uneven = (reading.uneven or 0) + _is_apart(bus, old.bus / old.rows)
    return {"sizes": sizes, "uneven": uneven or None}


def _is_apart(bus: float, mean: float) -> bool:
    """Tell whether a bandwidth is not that of its size so far; small ones differ as their latencies do."""
    return max(bus, mean) >= _LEAST_COMPARED_GBPS and not mean / 2 <= bus <= mean * 2


def _with(known: list[str] | None, word: str | None) -> list[str] | None:
    names = known or []
    return [*names, word] if word and word not in names and len(names) < _MOST_NAMED else known
