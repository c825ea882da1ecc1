"""What is read out of nccl-tests' tables, in every form in which logs hold them."""

from __future__ import annotations

import dataclasses

import pytest

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.measurements.nccl import read_table
from sync_hooks.measurements.profile import CompiledProfile, read_profile
from sync_hooks.measurements.summary import rows_seen, shown, wrong_count
from sync_hooks.measurements.tally import Wanted
from tests.sync_hooks.measurements.readings import (
    ALL_REDUCE,
    HEAD,
    IN,
    LARGE,
    MESSAGE,
    OUT,
    WARNING,
    expected,
    read,
    results,
    summary,
)
from tests.sync_hooks.measurements.tables import (
    FIRST,
    NEW,
    OLD,
    OLD_ROOTED,
    PLAIN,
    RANKS,
    SWEEP,
    Dialect,
    Result,
    average_of,
    row,
    table,
)
from tests.sync_hooks.measurements.worlds import example, stamped


@pytest.mark.parametrize(
    ("dialect", "last", "wrong"),
    [
        pytest.param(OLD, "1e-07", 0, id="float error without root"),
        pytest.param(OLD_ROOTED, "1e-07", 0, id="float error with root"),
        pytest.param(OLD, "3e+00", 1, id="float error that no type allows"),
        pytest.param(OLD, "nan", 1, id="float error that is no number"),
        pytest.param(FIRST, "0e+00", 0, id="first version"),
        pytest.param(NEW, "0", 0, id="count of wrong values"),
        pytest.param(NEW, "N/A", None, id="checking off"),
        pytest.param(OLD, "N/A", None, id="checking off in an old version"),
        pytest.param(NEW, "12", 12, id="twelve wrong values"),
        pytest.param(NEW, "1.23457e+06", 1234570, id="more wrong values than six digits show"),
    ],
)
def test_every_dialect_gives_the_same_bandwidths_and_its_own_wrong_count(
    dialect: Dialect, last: str, wrong: int | None
) -> None:
    other = "N/A" if last == "N/A" else dialect.last
    sweep = [dataclasses.replace(item, last=other, in_place_last=other) for item in SWEEP]
    sweep[20] = dataclasses.replace(sweep[20], last=last)
    reading = read(table(sweep, dialect))
    assert results(reading) == expected()
    assert wrong_count(reading) == wrong
    assert reading.unread is None


def test_wrong_values_in_place_count_too() -> None:
    reading = read(table([dataclasses.replace(LARGE, in_place_last="7")]))
    assert wrong_count(reading) == 7


def test_an_old_footer_tells_of_wrong_results_that_the_rows_do_not_count() -> None:
    sweep = [dataclasses.replace(LARGE, last="2e-02", in_place_last="0e+00")]
    assert wrong_count(read(table(sweep, OLD, out_of_bounds=3))) == 3


def test_unchecked_results_are_not_called_right_because_the_footer_counts_none() -> None:
    sweep = [dataclasses.replace(item, last="N/A", in_place_last="N/A") for item in SWEEP]
    reading = read(table(sweep, out_of_bounds=0))
    assert wrong_count(reading) is None
    assert "the test did not check the results of 32 rows" in str(shown(reading, ALL_REDUCE)["notes"])


@pytest.mark.parametrize(
    ("test", "dialect", "factor"),
    [
        pytest.param("all_gather", NEW, 0.9375, id="all_gather"),
        pytest.param("all_gather", PLAIN, 0.9375, id="all_gather without reduction and root"),
        pytest.param("reduce_scatter", NEW, 0.9375, id="reduce_scatter"),
        pytest.param("alltoall", NEW, 0.9375, id="alltoall"),
        pytest.param("broadcast", NEW, 1.0, id="broadcast"),
    ],
)
def test_every_collective_is_recognised_by_its_rows(test: str, dialect: Dialect, factor: float) -> None:
    sweep = SWEEP[6:]
    reading = read(table(sweep, dialect, test), Wanted(test, RANKS))
    assert results(reading) == expected(sweep, factor)
    assert not shown(reading, Wanted(test, RANKS))["notes"]


@pytest.mark.parametrize("zone", ["Z", "-07:00", "+05:30"])
def test_the_zone_of_the_node_changes_nothing(zone: str) -> None:
    assert results(read(stamped(table(SWEEP), zone=zone))) == expected()


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("\r\n".join(table(SWEEP)).encode() + b"\r\n", id="carriage returns"),
        pytest.param("\n".join(f"\x1b[32m{line}\x1b[0m" for line in table(SWEEP)).encode(), id="colours"),
        pytest.param("\n".join(f"[1,0]<stdout>:{line}" for line in table(SWEEP)).encode(), id="tags of mpirun"),
        pytest.param(
            b"\xe2\x82\n\x00\xff\xfe\n" + "\n".join(table(SWEEP)).encode() + b"\n\xf0\x9f", id="binary around"
        ),
        pytest.param("\n".join(table(SWEEP)).encode(), id="no timestamps and no last line feed"),
    ],
)
def test_what_surrounds_the_text_changes_nothing(lines: bytes) -> None:
    assert results(read(lines)) == expected()


def test_a_row_glued_to_the_end_of_a_message_counts() -> None:
    assert results(read(table([LARGE], transform=lambda text: MESSAGE + text))) == expected([LARGE])


def test_a_long_time_without_decimals_is_no_root() -> None:
    slow = Result(1 << 34, alg=0.5, last="0e+00", in_place=0.4, in_place_last="0e+00")
    reading = read(table([slow], OLD))
    assert results(reading) == [(1 << 34, 0.5, 0.94)]


@pytest.mark.parametrize("time", ["3.4e+07", "34359738"])
def test_times_in_any_notation_are_read(time: str) -> None:
    slow = Result(1 << 34, alg=0.5)
    text = row(slow).replace(" 34359738 ", f" {time} ")
    assert results(read(table([slow], transform=lambda _: text))) == [(1 << 34, 0.5, 0.94)]


def test_statistics_between_the_placements_are_no_wrong_values() -> None:
    columns = "time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
    header = f"size         count      type   redop    root     {columns}     {columns}"
    text = f"{HEAD} {OUT}  4100.1  4300.2  4290.0     2.1 {IN}  4100.1  4300.2  4290.0     2.1"
    reading = read(table([LARGE], Dialect(header, ("redop", "root")), transform=lambda _: text))
    assert results(reading) == expected([LARGE])
    assert wrong_count(reading) == 5


def test_a_time_of_day_behind_the_row_is_ignored() -> None:
    header = NEW.header + "           timestamp"
    lines = table(SWEEP, Dialect(header, NEW.columns), transform=lambda text: f"{text}  2026-01-01 10:00:00")
    reading = read(lines)
    assert (results(reading), wrong_count(reading)) == (expected(), 0)


def test_cycles_add_samples_and_means() -> None:
    lines = table([Result(1 << 30, alg=200.0), Result(1 << 30, alg=201.0), Result(1 << 20, alg=9.0)])
    reading = read(lines)
    assert [(item.size_bytes, item.rows) for item in reading.sizes or ()] == [(1 << 30, 2), (1 << 20, 1)]
    assert results(reading)[0] == (1 << 30, 200.5, 375.94)


def test_sizes_of_several_sweeps_are_noted_for_their_figures_are_means() -> None:
    again = [dataclasses.replace(item, alg=item.alg / 2) for item in SWEEP[-3:]]
    notes = shown(read([*table(SWEEP), *table(again)]), ALL_REDUCE)["notes"]
    assert notes == ["3 sizes were measured up to 2 times: each figure is the mean of its rows"]


def test_rows_of_nothing_are_no_repeated_sweep() -> None:
    wanted = Wanted("all_gather", RANKS)
    assert shown(read(table(SWEEP, test="all_gather"), wanted), wanted)["notes"] is None


@pytest.mark.parametrize("named", [False, True])
def test_of_several_tables_only_the_one_that_was_asked_for_counts(named: bool) -> None:
    lines = [
        *table(SWEEP, named=named),
        *table([Result(item.size, alg=500.0) for item in SWEEP], test="all_gather", named=named, average=9.0),
        *table([Result(item.size, alg=600.0) for item in SWEEP], test="reduce_scatter", named=named, average=8.0),
    ]
    reading = read(lines)
    assert results(reading) == expected()
    assert reading.printed_average == pytest.approx(average_of(SWEEP), rel=1e-5)
    assert "all_gather" in str(reading.others)
    gathered = read(lines, Wanted("all_gather", RANKS))
    assert {alg for _, alg, _ in results(gathered)} == {500.0}
    assert gathered.printed_average == 9.0


def test_a_test_of_no_known_name_has_only_the_tables_that_bear_it() -> None:
    lines = [*table(SWEEP, test="all_gather"), *table(SWEEP, named=True)]
    assert results(read(lines, Wanted("all_gahter", RANKS))) == []
    assert "all_gather" in str(read(lines, Wanted("all_gahter", RANKS)).others)
    mine = [line.replace("all_reduce_perf", "my_test_perf_mpi") for line in lines]
    assert results(read(mine, Wanted("my-test", RANKS))) == expected()


@pytest.mark.parametrize("wanted", [None, ""])
def test_without_a_test_the_first_kind_counts_and_nothing_is_mixed_into_it(wanted: str | None) -> None:
    lines = [
        *table(SWEEP, test="all_gather"),
        *table([Result(item.size, alg=600.0) for item in SWEEP], test="all_reduce", average=8.0),
    ]
    reading = read(lines, Wanted(wanted, RANKS))
    assert results(reading)[1:] == expected(SWEEP[3:], factor=0.9375)  # up to 32 bytes no rank has a share
    assert results(reading)[0][0] == 0
    assert reading.printed_average == pytest.approx(average_of(SWEEP, "all_gather"), rel=1e-5)


def test_a_table_of_another_collective_is_no_data() -> None:
    reading = read(table(SWEEP, test="broadcast"))
    assert (results(reading), reading.printed_average, wrong_count(reading)) == ([], None, None)
    assert "broadcast" in str(reading.others)


def test_peak_largest_size_and_printed_average_are_told_apart() -> None:
    falling = [Result(1 << 20, alg=10.0), Result(1 << 33, alg=256.0), Result(1 << 34, alg=200.0)]
    found = summary(read(table(falling, average=77.5)))
    assert found is not None
    assert (found.peak_bus_bandwidth_g_bps, found.at_largest_bus_bandwidth_g_bps) == (480.0, 375.0)
    assert found.printed_average_bus_bandwidth_g_bps == 77.5
    assert found.peak_alg_bandwidth_g_bps == 256.0


def test_zero_is_a_measured_value() -> None:
    found = summary(read(table([Result(8, alg=0.0001)])))
    assert found is not None
    assert found.peak_bus_bandwidth_g_bps == 0


def test_a_log_without_a_table_gives_nothing() -> None:
    fields = shown(read([MESSAGE, WARNING, "hello"]), ALL_REDUCE)
    assert {name for name, value in fields.items() if value is not None} == {"transport", "socket_fallback"}


def test_bandwidths_that_fit_another_number_of_ranks_are_noted() -> None:
    notes = str(shown(read(table(SWEEP), Wanted("all_reduce", 2)), Wanted("all_reduce", 2))["notes"])
    assert "1.875 times" in notes
    assert "over 2 ranks makes it 1.000" in notes


def custom(regex: str) -> CompiledProfile:
    spec = {"timestamp": {"layout": "2006-01-02 15:04:05"}, "patterns": {"bandwidthResult": {"regex": regex}}}
    compiled = read_profile(spec)
    assert isinstance(compiled, CompiledProfile), compiled
    return compiled


def test_a_pattern_that_reads_the_wrong_columns_gives_no_number() -> None:
    careless = custom(r"^\s*(?P<size>\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+(?P<algBW>\S+)\s+(?P<busBW>\S+)")
    reading = read_table(BandwidthReading(), stamped(table(SWEEP)), careless, ALL_REDUCE)
    assert (results(reading), reading.unread) == ([], 32)


def test_a_pattern_may_read_the_in_place_columns() -> None:
    careful = custom(r"^\s*(?P<size>\d+)(?:\s+\S+){8}\s+\S+\s+(?P<algBW>\S+)\s+(?P<busBW>\S+)")
    reading = read_table(BandwidthReading(), stamped(table(SWEEP)), careful, ALL_REDUCE)
    assert {alg for _, alg, _ in results(reading)} == {99.0}


def test_a_pattern_reads_tables_of_other_programs() -> None:
    other = custom(r"^bytes=(?P<size>\d+) alg=(?P<algBW>\S+) bus=(?P<busBW>\S+)$")
    lines = stamped(["bytes=1024 alg=1.5 bus=2.5", "bytes=2048 alg=nan bus=1", "bytes=4096 alg=1e-2 bus=1,234.5"])
    reading = read_table(BandwidthReading(), lines, other, Wanted("of_my_own"))
    assert results(reading) == [(1024, 1.5, 2.5), (4096, 0.01, 1234.5)]
    assert (reading.open, reading.headless) == (None, None), "other programs need neither header nor footer"
    assert (reading.unread, wrong_count(reading)) == (1, None)


@pytest.mark.parametrize(
    ("name", "peak", "wrong", "network", "fallback"),
    [
        pytest.param("all-reduce.log", 481.72, 0, "AWS Libfabric", False, id="healthy"),
        pytest.param("all-reduce-sockets.log", 4.68, 0, "Socket", True, id="sockets"),
        pytest.param("all-reduce-wrong-values.log", 389.73, 15, "IB", False, id="wrong values"),
    ],
)
def test_the_sample_logs_are_read(name: str, peak: float, wrong: int, network: str, fallback: bool) -> None:
    fields = shown(read(example(name)), ALL_REDUCE)
    found = summary(read(example(name)))
    assert found is not None
    assert found.peak_bus_bandwidth_g_bps == peak
    assert (fields["wrong_count"], fields["transport"], fields["socket_fallback"]) == (wrong, [network], fallback)
    assert (fields["rows_seen"], fields["ranks"], fields["notes"]) == (32, 16, None)


CHOSEN = ["x NCCL INFO Using network Socket", "NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4"]
NVLINK = "gpu-0000:311:342 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] via P2P/MNNVL"


def test_sockets_that_were_chosen_and_not_used_are_told() -> None:
    said = "NCCL chose the network Socket and did not use it: its channels between nodes go over NVLink (MNNVL)"
    assert shown(read([*CHOSEN, NVLINK]), ALL_REDUCE)["notes"] == [said]
    assert shown(read([*CHOSEN, NVLINK, "Channel 0 : 0 -> 8 via NET/Socket/0"]), ALL_REDUCE)["notes"] is None


@pytest.mark.parametrize(
    ("lines", "networks", "fallback"),
    [
        pytest.param(["x NCCL INFO Using network Socket"], ["Socket"], True, id="sockets chosen"),
        pytest.param(
            ["x NCCL INFO Using network Socket", "NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8"],
            ["Socket"],
            False,
            id="sockets chosen on one node, where nothing uses them",
        ),
        pytest.param(
            ["NCCL INFO Using network Socket", "x nNodes 2 y", "NCCL INFO Channel 00 : 0[0] -> 8[0] via NET/Socket/0"],
            ["Socket"],
            True,
            id="channels over sockets",
        ),
        pytest.param(
            ["NCCL INFO Using network IBext_v8", "NCCL INFO Using network IB"], ["IB", "IBext_v8"], False, id="IB"
        ),
        pytest.param(
            ["NCCL INFO NET/Socket : Using [0]eth0", "NCCL INFO Using network IB"], ["IB"], False, id="offered"
        ),
        pytest.param(
            [
                "NCCL INFO Using network GPUDirectTCPX_v7",
                "x nNodes 2 y",
                "Channel 0 : 0 -> 8 via NET/GPUDirectTCPX_v7/0",
            ],
            ["GPUDirectTCPX_v7"],
            False,
            id="a plugin over TCP is no fallback",
        ),
        pytest.param([*CHOSEN, NVLINK], ["MNNVL", "Socket"], False, id="NVLink between nodes in the sockets' place"),
        pytest.param(
            [*CHOSEN, NVLINK, "Channel 0 : 0 -> 8 via NET/Socket/0"],
            ["MNNVL", "Socket"],
            True,
            id="sockets between the domains of NVLink",
        ),
        pytest.param(
            ["NCCL INFO Using network IB", NVLINK, "Channel 0 : 0 -> 8 via NET/IB/0"],
            ["IB", "MNNVL"],
            False,
            id="the fabric between the domains of NVLink",
        ),
        pytest.param([NVLINK], ["MNNVL"], None, id="NVLink, and no word of the network beside it"),
        pytest.param(
            [*CHOSEN, NVLINK.replace("MNNVL", "CUMEM")], ["Socket"], True, id="NVLink within nodes, sockets between"
        ),
        pytest.param(["hello"], None, None, id="no word of it"),
    ],
)
def test_networks_are_told_from_nccls_own_messages(
    lines: list[str], networks: list[str], fallback: bool | None
) -> None:
    fields = shown(read(lines), ALL_REDUCE)
    assert (fields["transport"], fields["socket_fallback"]) == (networks, fallback)


@pytest.mark.parametrize(
    "sockets",
    [
        pytest.param("x NCCL INFO Using network Socket", id="alone"),
        pytest.param("x NCCL INFO Using network Socketgpu-0001:311:342 [1] NCCL INFO comm", id="torn"),
        pytest.param("Channel 0 : 0 -> 8 via NET/Socket/0", id="channels"),
    ],
)
def test_sockets_are_found_among_any_number_of_other_networks(sockets: str) -> None:
    others = [f"{said}A{index:02}" for said in ("NCCL INFO Using network ", "via NET/") for index in range(40)]
    for lines in ([*others[:40], sockets], [*others, "via NET/Socket/1", sockets]):
        fields = shown(read(lines), ALL_REDUCE)
        assert fields["socket_fallback"] is True
        assert "Socket" in str(fields["transport"])


def test_a_channel_on_every_line_costs_no_time_a_line() -> None:
    lines = [f"gpu-{index % 16:04}:1:2 [0] {MESSAGE[24:]}" for index in range(5000)]
    assert shown(read(lines), ALL_REDUCE)["transport"] == ["IB"]


def test_rows_beyond_what_a_status_can_hold_are_counted() -> None:
    reading = read(table([Result(4 * size, alg=50.0) for size in range(256, 256 + 1010)]))
    assert (rows_seen(reading), reading.left_out) == (1000, 10)


def test_bandwidths_with_more_decimals_than_are_kept_count() -> None:
    text = row(LARGE).replace(" 250.00 ", " 250.0000001 ").replace(" 468.75 ", " 468.7500002 ")
    reading = read([*table([])[:4], text, *table([LARGE])[-3:]])
    assert (results(reading), reading.unread) == (expected([LARGE]), None)


def test_a_repetition_that_is_much_slower_than_the_others_is_told_beside_their_mean() -> None:
    slow = [dataclasses.replace(item, alg=item.alg / 3) for item in SWEEP]
    notes = str(shown(read(table(SWEEP) * 3 + table(slow)), ALL_REDUCE)["notes"])
    assert "32 rows show less than half, or more than twice, of what others of their size do" in notes
    assert "more than twice" not in str(shown(read(table(SWEEP) * 4), ALL_REDUCE)["notes"])
