"""What a table's footer says of its rows: there are no other wrong values, and there is no other average."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_hooks.measurements.doubts import doubts
from sync_hooks.measurements.summary import rows_seen, wrong_count
from sync_hooks.measurements.tally import Wanted
from tests.sync_hooks.measurements.readings import ALL_REDUCE, LARGE, MESSAGE, read
from tests.sync_hooks.measurements.tables import OLD, RANKS, SWEEP, Result, row, table

WHOLE = table(SWEEP)
TORN_HEADER = [*WHOLE[:2], WHOLE[2].replace("algbw", f"{MESSAGE} algbw", 1), WHOLE[3]]
NO_HEADER = ["# Collective test starting: all_reduce_perf", WHOLE[3]]
LARGEST = Result(1 << 35, alg=300.0)


def doubted(lines: list[str]) -> str:
    return "; ".join(doubts(read(lines), ALL_REDUCE))


@pytest.mark.parametrize("others", [pytest.param(WHOLE[4:-3], id="among others"), pytest.param([], id="alone")])
def test_a_torn_row_has_no_wrong_values_that_the_footer_does_not_know_of(others: list[str]) -> None:
    whole = row(LARGE)
    cut = whole.rindex("450.00")
    torn = [*WHOLE[:4], *others, f"{whole[:cut]}rank 7", whole[cut:]]
    assert (wrong_count(read(torn)), read(torn).unread) == (7, 1)
    ended = read([*torn, *WHOLE[-3:]])
    assert (rows_seen(ended), ended.unread, wrong_count(ended) or 0) == (len(others), 1, 0)


@pytest.mark.parametrize("between", [f"\n{MESSAGE}\n", f"{MESSAGE}\n", "WARNING: 5 retries\n", "\n"])
def test_a_row_torn_beyond_recognition_is_missed_in_the_average(between: str) -> None:
    lines, text = table([*SWEEP, LARGEST]), row(LARGEST)
    at, lost = lines.index(text), 0
    for cut in range(1, len(text)):
        torn = [*lines[:at], *(text[:cut] + between + text[cut:]).split("\n"), *lines[at + 1 :]]
        missing = rows_seen(read(torn)) <= len(SWEEP)
        assert doubted(torn) or not missing, f"torn at {cut}"
        lost += missing
    assert lost


@pytest.mark.parametrize("torn", [TORN_HEADER, NO_HEADER], ids=["torn", "missing"])
def test_a_table_whose_header_cannot_be_read_is_held_against_its_average_all_the_same(torn: list[str]) -> None:
    assert doubted([*torn, *WHOLE[4:]]) == ""
    for lost in range(4, len(WHOLE) - 3):
        assert "not whole" in doubted([*torn, *WHOLE[4:lost], *WHOLE[lost + 1 :]])


@pytest.mark.parametrize("average", ["205.3[gpu-0001:77] 1 more process", "20\x005.3", "", "nan", "-1", "1e300"])
def test_an_average_that_cannot_be_read_proves_no_rows(average: str) -> None:
    assert "not whole" in doubted([*WHOLE[:-2], f"# Avg bus bandwidth    : {average}", "#"])
    assert doubted(WHOLE) == ""


def test_before_wrong_values_were_counted_the_average_was_of_threads_that_show_in_no_row() -> None:
    assert doubted(table(SWEEP, OLD, average=123.0)) == ""
    assert "not whole" in doubted(table(SWEEP, average=123.0))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.floats(0.001, 50_000), st.floats(0.001, 50_000)), min_size=1, max_size=30))
def test_rows_that_make_the_average_of_their_footer_are_not_doubted(pairs: list[tuple[float, float]]) -> None:
    results = [Result(1 << 34, alg=alg, in_place=in_place) for alg, in_place in pairs]
    assert doubted(table(results)) == ""


@pytest.mark.parametrize("test", ["all_reduce", "all_gather", "alltoall", "reduce_scatter", "broadcast"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_rows_of_no_bytes_are_in_the_average_whatever_they_are_taken_for(test: str, *, named: bool) -> None:
    lines = table([Result(0, alg=0.001, in_place=0.001)] * 3 + [*SWEEP], test=test, named=named)
    assert list(doubts(read(lines, Wanted(test, RANKS)), Wanted(test, RANKS))) == []
