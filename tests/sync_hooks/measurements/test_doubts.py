"""Tables that are not whole are doubted, whatever they say; whole ones never are, in any dialect."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_hooks.measurements.doubts import doubts
from sync_hooks.measurements.summary import rows_seen, shown, wrong_count
from sync_hooks.measurements.tally import Wanted
from tests.sync_hooks.measurements.bandwidths import POD, ended, finished, outcome, world
from tests.sync_hooks.measurements.listings import listed
from tests.sync_hooks.measurements.readings import ALL_REDUCE, LARGE, MESSAGE, read
from tests.sync_hooks.measurements.tables import FIRST, NEW, OLD, OLD_ROOTED, PLAIN, SWEEP, Dialect, Result, row, table
from tests.sync_hooks.measurements.worlds import WORDS, example, stamped

WHOLE = table(SWEEP)
NAMED = table(SWEEP, named=True)
FOOTER = next(index for index, line in enumerate(NAMED) if "Out of bounds" in line)


def doubted(lines: list[str], wanted: Wanted = ALL_REDUCE) -> str:
    return "; ".join(doubts(read(lines, wanted), wanted))


@pytest.mark.parametrize(
    "dialect", [NEW, OLD, OLD_ROOTED, PLAIN, FIRST], ids=["new", "old", "rooted", "plain", "first"]
)
def test_a_whole_table_of_any_version_is_not_doubted(dialect: Dialect) -> None:
    test = "all_gather" if dialect is PLAIN else "all_reduce"
    lines = table(SWEEP[6:], dialect, test)
    assert rows_seen(read(lines, Wanted(test, 16)))
    assert doubted(lines, Wanted(test, 16)) == ""


@pytest.mark.parametrize("name", ["all-reduce.log", "all-reduce-sockets.log", "all-reduce-wrong-values.log"])
def test_the_sample_logs_are_not_doubted(name: str) -> None:
    assert doubted(example(name)) == ""


@pytest.mark.parametrize("kept", [[0, 1, 3], [1], [0, 3], [0], [3], []], ids=str)
def test_the_average_ends_a_table_and_no_other_line_of_its_footer_does(kept: list[int]) -> None:
    footer = NAMED[FOOTER:]
    assert "Avg bus bandwidth" in footer[1]
    whole = doubted([*NAMED[:FOOTER], *(footer[index] for index in kept)]) == ""
    assert whole == (1 in kept)


@pytest.mark.parametrize("kept", [0, 3], ids=["wrong results", "conclusion"])
def test_a_table_without_its_average_is_doubted_although_a_whole_one_follows(kept: int) -> None:
    lines = [*NAMED[:FOOTER], NAMED[FOOTER:][kept], *NAMED]
    assert doubted(lines) == "the table is not whole: the footer, or lines before it, are missing"


@settings(max_examples=80, deadline=None)
@given(st.integers(0, FOOTER - 1), st.lists(st.just(MESSAGE), max_size=3))
def test_however_a_log_is_cut_before_the_footer_what_it_gives_is_doubted(cut: int, rest: list[str]) -> None:
    lines = [*NAMED[:cut], *rest]
    assert not rows_seen(read(lines)) or "not whole" in doubted(lines)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(WHOLE) - 1))
def test_however_the_beginning_of_a_log_is_lost_its_rows_are_doubted_or_all_there(cut: int) -> None:
    lines = WHOLE[cut:]
    assert rows_seen(read(lines)) in (0, len(SWEEP)) or "no header" in doubted(lines)


def test_a_table_that_another_follows_without_a_footer_is_doubted() -> None:
    assert "not whole" in doubted([*WHOLE[:10], *WHOLE])


def test_a_row_that_could_not_be_read_is_a_doubt_although_the_others_were() -> None:
    torn = row(LARGE).replace(" 250.00 ", " 25O.00 ")
    lines = [*WHOLE[:10], torn, *WHOLE[10:]]
    assert rows_seen(read(lines)) == 32
    assert doubted(lines) == "1 rows of the table could not be read"


def test_rows_of_other_programs_need_neither_header_nor_footer() -> None:
    reading = read(WHOLE).model_copy(update={"open": None, "headless": None})
    assert list(doubts(reading, ALL_REDUCE)) == []
    assert list(doubts(read([MESSAGE]), ALL_REDUCE)) == []


def test_sizes_that_are_left_out_may_have_had_the_peak() -> None:
    lines = table([Result(4 * size, alg=50.0) for size in range(256, 256 + 1010)])
    assert doubted(lines) == "10 rows of sizes beyond the first 1000 are left out"


def test_bandwidths_of_another_number_of_ranks_are_doubted_unless_the_log_lists_so_many() -> None:
    of_32 = Wanted("all_reduce", 2)
    assert "over 2 ranks makes it 1.000" in doubted(WHOLE, of_32)
    assert doubted([*listed("a", "b", each=8), *WHOLE], of_32) == ""
    assert "over 2 ranks makes it 1.000" in doubted([*listed("a", "b", each=1), *WHOLE], of_32)


@pytest.mark.parametrize(
    ("out", "in_place", "wrong"),
    [
        pytest.param("5368.7 200.00 387.5O 12", "5368.7 200.00 38?.50 12", 24, id="one number in each is torn"),
        pytest.param("5368.7 200.00 375.00 3", "5368.7 200.00 375.0O N/A", 3, id="checked in one placement"),
        pytest.param("5368.7 200.00 375.00 1Z", "5368.7 200.00 375.00 7", 7, id="a count is torn"),
        pytest.param("53G8.7 2OO.00 375.O0 5", "5368.7 200.00 375.00 7", None, id="more is torn than can be trusted"),
        pytest.param("5368.7 200.00 375.00 5", "5368.7 200.00 375.00", None, id="a column is missing"),
    ],
)
def test_wrong_values_of_a_row_that_gives_no_bandwidth_count_where_its_columns_are_all_there(
    out: str, in_place: str, wrong: int | None
) -> None:
    torn = f"  1073741824     268435456     float     sum      -1  {out}  {in_place}"
    reading = read([*WHOLE[:4], torn, *table([], out_of_bounds=1)[-3:]])
    assert (rows_seen(reading), reading.unread, wrong_count(reading)) == (0, 1, wrong or 1)
    assert wrong_count(read([*WHOLE[:4], torn])) == wrong


def test_the_ranks_of_a_status_are_the_fewest_of_the_tables_that_count() -> None:
    lines = [*listed("a", "b", each=8), *WHOLE, *listed("a", each=8), *WHOLE, *listed("a", "b", each=16)]
    assert shown(read(lines), ALL_REDUCE)["ranks"] == 8


BEGUN = [*listed("a", "b", each=8), *WHOLE[:4]]
NAMED_HEAD = [NAMED[0], *BEGUN]


@pytest.mark.parametrize(
    ("lines", "tests"),
    [
        pytest.param([*WHOLE, *BEGUN], "a test", id="ranks and header"),
        pytest.param([*WHOLE, *WHOLE[:4]], "a test", id="header alone"),
        pytest.param([*WHOLE, *listed("a", "b", each=8)], "a test", id="ranks alone"),
        pytest.param([*WHOLE, NAMED[0]], "a test", id="name alone"),
        pytest.param([*WHOLE, *NAMED_HEAD], "a test", id="name, ranks and header"),
        pytest.param([*BEGUN, *BEGUN, *WHOLE[4:]], "a test", id="before the one that ended"),
        pytest.param([*NAMED_HEAD, *NAMED_HEAD, *NAMED, *NAMED_HEAD], "3 tests", id="three of four"),
    ],
)
def test_a_test_that_died_before_its_first_row_is_doubted(lines: list[str], tests: str) -> None:
    assert doubted(lines).startswith(f"{tests} began and did not come to a first result")
    assert rows_seen(read(lines)) == 32


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([*WHOLE, *BEGUN, *WHOLE[-3:]], id="no size was in its range"),
        pytest.param([*WHOLE, *NAMED_HEAD, NAMED[-1]], id="its end is told by its name alone"),
        pytest.param([*WHOLE, NAMED[0].replace("all_reduce", "all_gather"), *BEGUN], id="of another collective"),
        pytest.param([*listed("a", "b", each=8), *WHOLE] * 3, id="whole, three times"),
    ],
)
def test_a_test_that_ended_or_is_not_measured_is_not_doubted(lines: list[str]) -> None:
    assert doubted(lines) == ""


def test_lines_that_are_lost_behind_the_beginning_of_a_table_may_have_been_its_rows() -> None:
    running = world(logs={POD: stamped([*WHOLE, *BEGUN])})
    running.sync(20)
    running.logs = {POD: stamped(WHOLE[-3:], start=40)}
    ended(running).sync(100)
    assert (running.status["rowsSeen"], "not whole" in str(running.status["doubts"])) == (32, True)


def test_without_a_test_rows_of_another_collective_are_doubted_and_with_one_they_are_noted() -> None:
    lines = [*NAMED, *table(SWEEP, test="broadcast", named=True)]
    doubt = "rows of broadcast are left out: only the first collective counts where testType names none"
    assert doubted(lines, Wanted(None, 16)) == doubt
    assert shown(read(lines, Wanted(None, 16)), Wanted(None, 16))["notes"] == [doubt]
    assert doubted(lines) == ""
    assert shown(read(lines), ALL_REDUCE)["notes"] == ["rows of broadcast do not count: all_reduce is measured"]


def test_bandwidths_are_held_against_the_collective_that_counts_not_the_one_that_comes_last() -> None:
    lines = [*NAMED, NAMED[0].replace("all_reduce", "broadcast")]
    assert "broadcast" not in doubted(lines, Wanted(None, 16))


# Through the measurement


def test_a_finished_log_without_a_footer_completes_with_a_doubt_and_its_figures() -> None:
    done = finished(logs={POD: stamped(WHOLE[:20])})
    done.sync(100)
    assert outcome(done)[0] == "JobSucceeded"
    assert done.status["doubts"] == ["the table is not whole: the footer, or lines before it, are missing"]
    assert done.status["summary"]["peakBusBandwidthGBps"] > 0


def test_a_running_log_is_not_doubted_for_what_is_still_to_come() -> None:
    running = world(logs={POD: stamped(WHOLE[:20])})
    running.sync(20)
    assert "doubts" not in running.status
    running.logs = {POD: stamped(WHOLE)}
    ended(running).sync(100)
    assert "doubts" not in running.status


def test_rows_lost_in_the_middle_of_a_table_are_doubted_although_it_ends() -> None:
    running = world(logs={POD: stamped(WHOLE[:12])})
    running.sync(10)
    running.logs = {POD: b"".join(stamped(WHOLE).splitlines(keepends=True)[33:])}
    ended(running).sync(100)
    assert running.status["rowsSeen"] < 32
    assert "not whole" in str(running.status["doubts"])


def test_lines_that_are_lost_behind_a_whole_table_may_have_been_another() -> None:
    running = world()
    running.sync(20)
    running.logs = {POD: stamped([MESSAGE] * 90, start=400)}
    ended(running, end=450).sync(500)
    gap = "1 times lines of the log were rotated away before they could be read"
    assert (running.status["rowsSeen"], running.status["doubts"]) == (32, [gap])


@pytest.mark.parametrize("left", [b"", WORDS], ids=["nothing", "a kubelet's words"])
def test_a_log_that_is_gone_at_the_end_does_not_pass_for_what_was_read_of_it(left: bytes) -> None:
    running = world()
    running.sync(20)
    running.logs = {POD: left}
    ended(running)
    assert running.sync(100).resync_after == 15
    assert running.condition("Measuring")["reason"] == "FinalReadPending"
    assert 220 <= running.run(100) <= 280
    reason = outcome(running)[0]
    assert reason == ("JobSucceeded" if left == b"" else "LogsUnavailable")
    assert running.status.get("doubts") or "summary" not in running.status


@pytest.mark.parametrize("left", [b"", WORDS], ids=["nothing", "a kubelet's words"])
def test_a_log_that_comes_back_is_read_as_if_it_had_never_been_gone(left: bytes) -> None:
    running = world(logs={POD: stamped(WHOLE[:20])})
    running.sync(20)
    running.logs = {POD: left}
    ended(running).sync(100)
    running.logs = {POD: stamped(WHOLE)}
    running.sync(115)
    assert (outcome(running)[0], running.status["rowsSeen"]) == ("JobSucceeded", 32)
    assert "doubts" not in running.status
