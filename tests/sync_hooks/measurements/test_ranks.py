"""Whether the ranks of a table are those that were to run: told from what its program lists."""

from __future__ import annotations

from itertools import chain, zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementStatus, BandwidthReading
from sync_hooks.measurements.nccl import read_table
from sync_hooks.measurements.ranks import Finding, Planned, ranks_apart
from sync_hooks.measurements.summary import shown
from sync_hooks.measurements.tally import Wanted
from tests.sync_hooks.measurements.listings import listed, uneven
from tests.sync_hooks.measurements.readings import ALL_REDUCE, read
from tests.sync_hooks.measurements.tables import SWEEP, table
from tests.sync_hooks.measurements.worlds import profile, stamped

TABLE = table(SWEEP)
PLANNED = Planned(nodes=4, ranks=32, mpi=True)
HOSTS = ("a", "b", "c", "d")
ALL = listed(*HOSTS, each=8)
SCATTERED = sorted(listed(*HOSTS, each=8), key=lambda line: line.split()[2][-1])
SINGLES = [line for host in HOSTS for line in listed(host, each=1) * 8]
MIXED = [line for line in chain(*zip_longest(*(listed(host, each=8) for host in HOSTS))) if line]


def by_device(line: str) -> int:
    return int(line.split(" device ")[1].split()[0])


def finding(lines: list[str], planned: Planned = PLANNED) -> Finding | None:
    fields = shown(read(lines), Wanted("all_reduce", planned.ranks))
    return ranks_apart(BandwidthMeasurementStatus.model_validate(fields), planned)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param([*listed("a", each=8), *TABLE], "of 8 ranks on one node; 32 on 4 nodes", id="one of them alone"),
        pytest.param(
            [line for host in HOSTS for line in (*listed(host, each=8), *TABLE)],
            "of 8 ranks on one node, by programs that did not find each other",
            id="one after the other",
        ),
        pytest.param([*MIXED, *TABLE, *TABLE], "did not find each other", id="all at once, their lines mixed"),
        pytest.param([*SINGLES, *TABLE], "of 1 ranks on one node", id="every process by itself"),
    ],
)
def test_ranks_of_one_node_are_not_those_of_a_group(lines: list[str], words: str) -> None:
    found = finding(lines)
    assert found is not None
    assert found.certain
    assert words in found.message


def test_without_mpirun_ranks_of_one_node_are_doubted_and_not_called_wrong() -> None:
    found = finding([*listed("a", each=8), *TABLE], Planned(nodes=4, ranks=32))
    assert found is not None
    assert not found.certain


def test_where_nobody_knows_how_many_ranks_were_to_run_one_host_tells() -> None:
    found = finding([*listed("a", each=8), *TABLE], Planned(nodes=4, mpi=True))
    assert found is not None
    assert "those of 4 nodes were to run" in found.message
    assert finding([*listed("a", "b", each=4), *TABLE], Planned(nodes=4, mpi=True)) is None
    odd = finding([*uneven(a=8, b=8, c=8, d=1), *TABLE], Planned(nodes=4))
    assert "those of 4 nodes were to run, and not every node has its share" in str(odd)


def test_a_node_that_took_no_part_is_a_doubt() -> None:
    found = finding([*listed("a", "b", "c", each=8), *TABLE])
    assert found is not None
    assert not found.certain
    assert "not every node took part" in found.message


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        pytest.param(uneven(a=8, b=8, c=8, d=1), "one has 1 of them, another 8", id="one GPU of the last node"),
        pytest.param(uneven(a=1, b=8, c=8, d=8), "one has 1 of them, another 8", id="one GPU of the first node"),
        pytest.param(uneven(a=8, b=8, c=8, d=7), "one has 7 of them, another 8", id="all but one GPU"),
        pytest.param(uneven(a=2, b=2, c=2, d=1), "one has 1 of them, another 2", id="fewer by choice, and one less"),
        pytest.param(uneven(a=9, b=8, c=8, d=7), "one has 7 of them, another 9", id="as many as planned"),
        pytest.param(sorted(uneven(a=8, b=8, c=8, d=5), key=by_device), "one has 5", id="in another order"),
        pytest.param(uneven(a=4, b=4), "they are on 2 hosts", id="half of two nodes"),
        pytest.param(uneven(a=8, b=8, c=8, d=1)[:-2], "not every node took part", id="the last node is lost"),
        pytest.param([*ALL[:5], *ALL[6:30]], "not every node has its share", id="lines and ranks are missing"),
    ],
)
def test_a_node_with_fewer_ranks_than_the_others_is_a_doubt(ranks: list[str], words: str) -> None:
    found = finding([*ranks, *TABLE])
    assert found is not None
    assert not found.certain
    assert words in found.message


def test_of_several_tables_the_most_uneven_tells() -> None:
    even, odd = [*ALL, *TABLE], [*uneven(a=8, b=8, c=8, d=3), *TABLE]
    for lines in (even + odd, odd + even, odd + even * 2):
        assert "one has 3 of them, another 8" in str(finding(lines))


def test_a_second_table_of_one_node_makes_the_whole_doubtful() -> None:
    found = finding([*listed(*HOSTS, each=8), *TABLE, *listed("a", each=8), *TABLE])
    assert found is not None
    assert not found.certain
    assert "of 8 ranks" in found.message


@pytest.mark.parametrize(
    ("lines", "planned"),
    [
        pytest.param([*listed(*HOSTS, each=8), *TABLE], PLANNED, id="all of them"),
        pytest.param([*SCATTERED, *TABLE], PLANNED, id="in another order"),
        pytest.param([*listed(*HOSTS, each=8), *TABLE] * 3, PLANNED, id="three tests in a row"),
        pytest.param([*listed(*HOSTS, each=2), *TABLE], PLANNED, id="two a node, by choice"),
        pytest.param([*listed(*HOSTS, each=1), *TABLE], PLANNED, id="one a node, by choice"),
        pytest.param([*listed(*HOSTS, each=16), *TABLE], PLANNED, id="two GPUs or threads a process"),
        pytest.param([*ALL[:20], *ALL[21:], *TABLE], PLANNED, id="a line of the list is lost"),
        pytest.param([*uneven(a=16, b=8, c=8), *TABLE], PLANNED, id="two hosts under one name"),
        pytest.param([*listed("a", each=32), *TABLE], PLANNED, id="host names that are the same up to the first dot"),
        pytest.param([*listed("a", each=8), *TABLE], Planned(1, 8, mpi=True), id="a group of one node"),
        pytest.param([*listed("a", each=8), *TABLE], Planned(), id="nothing planned"),
        pytest.param(TABLE, PLANNED, id="nothing listed"),
    ],
)
def test_what_may_be_so_by_choice_is_no_finding(lines: list[str], planned: Planned) -> None:
    assert finding(lines, planned) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 120), st.integers(0, 120))
def test_wherever_a_log_is_cut_the_ranks_are_the_same(first: int, second: int) -> None:
    lines = [*ALL, *TABLE[:6], *TABLE[-3:], *uneven(a=8, b=3), *listed("c", each=2), *TABLE[:6], *ALL[:9]]
    pieces = (lines[: min(first, second)], lines[min(first, second) : max(first, second)], lines[max(first, second) :])
    reading = BandwidthReading()
    for piece in pieces:
        reading = read_table(reading, stamped(piece), profile("nccl-bandwidth"), ALL_REDUCE)
    assert reading == read(lines)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 8), min_size=2, max_size=6), st.integers(0, 3))
def test_ranks_that_differ_from_node_to_node_are_always_a_finding(ranks: list[int], more: int) -> None:
    share = max(ranks) + more
    lines = [*uneven(**{f"host-{number}": each for number, each in enumerate(ranks)}), *TABLE[:6], *TABLE[-3:]]
    found = finding(lines, Planned(len(ranks), len(ranks) * share))
    assert (found is not None) == (len(set(ranks)) > 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(1, 8), st.integers(1, 8), st.booleans(), st.integers(1, 3))
def test_ranks_that_are_spread_over_all_nodes_are_never_a_finding(
    nodes: int, share: int, each: int, mpi: bool, times: int
) -> None:
    hosts = [f"host-{number}" for number in range(nodes)]
    lines = [*listed(*hosts, each=each), *TABLE[:6], *TABLE[-3:]] * times
    assert finding(lines, Planned(nodes, nodes * share, mpi)) is None
