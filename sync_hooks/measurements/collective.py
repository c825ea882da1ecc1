"""NCCL's collectives: how a row shows which one it is, and how bus and algorithm bandwidth relate.

Newer nccl-tests name the test above the table. Older ones do not, and a row's shape has to tell: its reduction, its
root, and whether its count is of the whole message or of one rank's share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

TYPE_BYTES: Mapping[str, int] = {
    "int8": 1,
    "uint8": 1,
    "char": 1,
    "f8e4m3": 1,
    "f8e5m2": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "half": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "int": 4,
    "float": 4,
    "int64": 8,
    "uint64": 8,
    "double": 8,
}
"""Bytes of an element, by the names that nccl-tests print."""


@dataclass(frozen=True, slots=True)
class Collective:
    """What tells a collective's rows; ``reduces`` is None where versions differ. ``factor`` is busbw / algbw."""

    name: str
    reduces: bool | None
    rooted: bool
    shared: bool  # the count is of one rank's share
    factor: str


# busbw / algbw by NVIDIA's nccl-tests, doc/PERFORMANCE.md and the GetBw functions.
_SHARE = "(n-1)/n"
_TWICE = "2(n-1)/n"
_ONE = "1"

COLLECTIVES: Mapping[str, Collective] = {
    item.name.replace("_", ""): item
    for item in (
        Collective("all_reduce", reduces=True, rooted=False, shared=False, factor=_TWICE),
        Collective("reduce_scatter", reduces=True, rooted=False, shared=True, factor=_SHARE),
        Collective("reduce", reduces=True, rooted=True, shared=False, factor=_ONE),
        Collective("all_gather", reduces=False, rooted=False, shared=True, factor=_SHARE),
        Collective("alltoall", reduces=None, rooted=False, shared=True, factor=_SHARE),
        Collective("alltoallv", reduces=False, rooted=False, shared=True, factor=_SHARE),
        Collective("broadcast", reduces=False, rooted=True, shared=False, factor=_ONE),
        Collective("gather", reduces=False, rooted=True, shared=True, factor=_SHARE),
        Collective("scatter", reduces=False, rooted=True, shared=True, factor=_SHARE),
        Collective("sendrecv", reduces=None, rooted=False, shared=False, factor=_ONE),
        Collective("hypercube", reduces=False, rooted=False, shared=True, factor=_ONE),
    )
}
"""By name without underscores."""

UNEVEN = "alltoallv"
"""The collective whose ranks send different amounts: its size is no multiple of its count."""

_SUFFIX = re.compile(r"_?perf(_mpi)?$")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a row shows of its collective. ``shares`` is how often its count fits into its size, None if not evenly.

    A row of nothing, 0 bytes in 0 elements, is printed where a message is too small for every rank to have a share.
    """

    reduces: bool
    rooted: bool
    shares: int | None
    empty: bool = False


@lru_cache(maxsize=64)  # asked for three times a row
def collective(text: str | None) -> Collective | None:
    """Find a collective by any usual spelling: all_reduce, all-reduce, AllReduce, all_reduce_perf_mpi, a path."""
    word = (text or "").strip().rsplit("/", 1)[-1].lower().replace("-", "_")
    return COLLECTIVES.get(_SUFFIX.sub("", word).replace("_", ""))


def shape(size: int, count: int, type_: str, reduction: str | None, root: int | None) -> Shape:
    """Describe a row by its first columns."""
    share = count * TYPE_BYTES.get(type_, 0)
    return Shape(
        reduces=reduction not in (None, "none"),
        rooted=root is not None and root >= 0,
        shares=size // share if share and size % share == 0 else None,
        empty=count == 0,
    )


def fits(item: Collective, row: Shape, ranks: int | None) -> bool:
    """Tell whether a row can be of a collective. ``ranks`` is how many the test was to have, where that is known."""
    if item.reduces is not None and item.reduces != row.reduces:
        return False
    if item.rooted != row.rooted:
        return False
    if row.empty:
        return item.shared
    if row.shares is None or item.name == UNEVEN:
        return True
    if ranks == 1:
        return row.shares == 1
    return row.shares > 1 if item.shared else row.shares == 1


def describe(row: Shape) -> str:
    """Name the kind of a row that no header names."""
    candidates = [item.name for item in COLLECTIVES.values() if fits(item, row, None)]
    return " or ".join(candidates) or "an unknown collective"


def bus_factor(item: Collective, ranks: int) -> float:
    """Return busbw / algbw for a number of ranks."""
    return {_TWICE: 2 * (ranks - 1) / ranks, _SHARE: (ranks - 1) / ranks, _ONE: 1.0}[item.factor]
