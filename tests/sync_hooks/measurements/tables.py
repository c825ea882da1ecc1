"""Tables as the versions of nccl-tests print them, from one list of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

RANKS = 16


@dataclass(frozen=True)
class Result:
    """One size: bandwidth out of place and in place in GB/s, and what the last column of each says."""

    size: int
    alg: float = 100.0
    last: str = "0"
    in_place: float = 99.0
    in_place_last: str = "0"


@dataclass(frozen=True)
class Dialect:
    """How a version prints: its columns behind the type, and the words of a row for them."""

    header: str
    columns: Sequence[str]
    last: str = "0"
    hash: str = "# "


FACTORS = {
    "all_reduce": 2 * (RANKS - 1) / RANKS,
    "reduce_scatter": (RANKS - 1) / RANKS,
    "all_gather": (RANKS - 1) / RANKS,
    "alltoall": (RANKS - 1) / RANKS,
    "broadcast": 1.0,
}
SHARED = frozenset({"all_gather", "reduce_scatter", "alltoall"})
REDUCING = frozenset({"all_reduce", "reduce_scatter"})

NEW = Dialect(
    "size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
    ("redop", "root"),
)
OLD = Dialect(
    "size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error",
    ("redop",),
    last="1e-07",
)
OLD_ROOTED = Dialect(
    "size         count    type   redop    root     time   algbw   busbw  error     time   algbw   busbw  error",
    ("redop", "root"),
    last="2e-07",
)
PLAIN = Dialect(
    "size         count    type     time   algbw   busbw  error     time   algbw   busbw  error", (), last="0e+00"
)
FIRST = Dialect(
    "bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res",
    ("redop",),
    last="0e+00",
    hash="#  ",
)


def microseconds(size: int, alg: float) -> str:
    """The time of a size as it is printed: fewer decimals, the larger it is."""
    value = size / alg / 1e3
    return f"{value:.2f}" if value < 100 else f"{value:.1f}" if value < 10_000 else f"{value:.0f}"


def row(result: Result, dialect: Dialect = NEW, test: str = "all_reduce") -> str:
    """One row."""
    shares = RANKS if test in SHARED else 1
    count = result.size // 4 // shares
    words = {"redop": f"{'sum' if test in REDUCING else 'none':>7}", "root": f"{0 if test == 'broadcast' else -1:>7}"}
    middle = " ".join(words[name] for name in dialect.columns)
    outs = placement(result.size, result.alg, result.last, test)
    ins = placement(result.size, result.in_place, result.in_place_last, test)
    return f"{count * 4 * shares:>12} {count:>13} {'float':>9} {middle} {outs} {ins}"


def placement(size: int, alg: float, last: str, test: str = "all_reduce") -> str:
    """The four columns of one placement."""
    return f"{microseconds(size, alg):>8} {alg:>7.2f} {alg * FACTORS[test]:>7.2f} {last:>6}"


def average_of(results: Sequence[Result], test: str = "all_reduce") -> float:
    """The mean bus bandwidth of rows in both placements."""
    bandwidths = [alg * FACTORS[test] for result in results for alg in (result.alg, result.in_place)]
    return sum(bandwidths) / max(len(bandwidths), 1)


def table(
    results: Sequence[Result],
    dialect: Dialect = NEW,
    test: str = "all_reduce",
    *,
    named: bool = False,
    average: float | None = None,
    out_of_bounds: int = 0,
    transform: Callable[[str], str] = str,
) -> list[str]:
    """A whole table with header and footer; ``named`` as versions since 2025 do, ``average`` is that of its rows."""
    head = [f"# Collective test starting: {test}_perf"] if named else []
    head += ["# nThread 1 nGpus 1 minBytes 8 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20", "#"]
    head += [f"{dialect.hash}     {dialect.header}", "#        (B)    (elements)     (us)  (GB/s)  (GB/s)"]
    verdict = "FAILED" if out_of_bounds else "OK"
    foot = [f"# Out of bounds values : {out_of_bounds} {verdict}"]
    foot += [f"# Avg bus bandwidth    : {average_of(results, test) if average is None else average:g} "]
    foot += ["#"] + ([f"# Collective test concluded: {test}_perf"] if named else [])
    return [*head, *(transform(row(result, dialect, test)) for result in results), *foot]


SWEEP = tuple(Result(1 << power, alg=round(256 * min(1.0, (power - 2) / 32), 2)) for power in range(3, 35))
