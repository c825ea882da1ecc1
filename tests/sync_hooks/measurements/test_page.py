"""Which lines of a log are new, and how far it has been read."""

from __future__ import annotations

import pytest

from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.observed import Log
from sync_hooks.api.sync import Unreadable
from sync_hooks.measurements.page import (
    PAGE_BYTES,
    advance,
    is_lost,
    new_lines,
    page_bytes,
    readable,
    received,
    since,
    widen,
)
from sync_hooks.measurements.stamp import moment_of, nanoseconds, stamp_of, text_start, whole_second
from tests.sync_hooks.measurements.worlds import WORDS, at, kubelet, serve, stamped

LATER = at(1_000_000)


def texts(lines: bytes) -> list[str]:
    return [line.partition(" ")[2] for line in lines.decode().splitlines()]


def read_all(content: bytes, limit: int, cursor: LogCursor | None = None) -> tuple[list[str], LogCursor]:
    """Read a finished log page by page, as a hook does."""
    cursor, found = cursor or LogCursor(), []
    for _ in range(10_000):
        page = serve(content, since(cursor), limit << (cursor.page_doublings or 0))
        window = new_lines(cursor, page, ended=True, now=LATER)
        if window.stuck:
            wider = widen(cursor)
            assert wider is not None, "cannot be read in pages"
            cursor = wider
            continue
        found += texts(window.lines)
        cursor = advance(cursor, window.lines)
        if window.last:
            return found, cursor
    raise AssertionError("never ends")


@pytest.mark.parametrize("limit", [100, 150, 1000, 10_000])
@pytest.mark.parametrize("step", [0.3, 1, 7], ids=lambda step: f"a line every {step} s")
def test_every_line_is_read_once_whatever_the_size_of_a_page(limit: int, step: float) -> None:
    lines = [f"line {index}" for index in range(60)]
    if step < 1 and limit < 150:
        limit *= 2  # a second has three lines
    assert read_all(stamped(lines, step=step), limit)[0] == lines


def test_lines_of_one_instant_are_told_apart_by_their_number() -> None:
    content = b"".join(f"{kubelet(at(5))} line {index}\n".encode() for index in range(6))
    first = new_lines(LogCursor(), Log(content=content[: len(content) // 2]), ended=False, now=LATER)
    cursor = advance(LogCursor(), first.lines)
    assert (texts(first.lines), cursor.lines_at_last_time) == (["line 0", "line 1", "line 2"], 3)
    rest = new_lines(cursor, serve(content, since(cursor), 10_000), ended=True, now=LATER)
    assert texts(rest.lines) == ["line 3", "line 4", "line 5"]
    assert advance(cursor, rest.lines).lines_at_last_time == 6


def test_a_second_that_does_not_fit_into_a_page_makes_the_page_larger_and_then_smaller_again() -> None:
    lines = [f"line {index}" for index in range(30)]
    found, cursor = read_all(stamped(lines, step=0.01) + stamped(["end"], start=10), limit=500)
    assert found == [*lines, "end"]
    assert page_bytes(cursor) == PAGE_BYTES


def test_a_second_larger_than_the_largest_page_is_told() -> None:
    page = Log(content=stamped(["x" * 50] * 3, step=0), truncated=True)
    cursor = advance(LogCursor(), page.content)
    assert new_lines(cursor, page, ended=True, now=LATER).stuck
    widest = widen(widen(cursor) or cursor)
    assert widest is not None
    assert (page_bytes(widest), widen(widest)) == (PAGE_BYTES * 4, None)


def test_a_cut_line_waits_for_its_end() -> None:
    content = stamped(["whole", "cut"])[:-3]
    assert texts(new_lines(LogCursor(), Log(content=content), ended=False, now=LATER).lines) == ["whole"]
    assert texts(new_lines(LogCursor(), Log(content=content), ended=True, now=LATER).lines)[0] == "whole"


def test_a_line_that_may_still_be_written_waits() -> None:
    content = stamped(["old", "new"], step=10)
    now = at(10.5)
    assert texts(new_lines(LogCursor(), Log(content=content), ended=False, now=now).lines) == ["old"]
    assert texts(new_lines(LogCursor(), Log(content=content), ended=False, now=at(13)).lines) == ["old", "new"]


def test_what_rotation_took_is_a_gap_and_what_is_left_is_read() -> None:
    lines = stamped([f"line {index}" for index in range(10)], step=1)
    cursor = advance(LogCursor(), b"".join(lines.splitlines(keepends=True)[:3]))
    left = b"".join(lines.splitlines(keepends=True)[6:])
    window = new_lines(cursor, serve(left, since(cursor), 10_000), ended=True, now=LATER)
    assert (texts(window.lines), window.gap) == (["line 6", "line 7", "line 8", "line 9"], True)


def test_a_page_before_the_last_line_read_is_no_gap() -> None:
    lines = stamped([f"line {index}" for index in range(10)], step=1).splitlines(keepends=True)
    cursor = advance(LogCursor(), b"".join(lines[:8]))
    window = new_lines(cursor, Log(content=b"".join(lines[:4]), truncated=True), ended=True, now=LATER)
    assert (window.lines, window.gap) == (b"", False)


@pytest.mark.parametrize("ended", [False, True])
def test_of_what_bears_no_timestamps_nothing_is_read(ended: bool) -> None:
    assert new_lines(LogCursor(), Log(content=b"one\ntwo"), ended=ended, now=LATER).lines == b""
    assert new_lines(LogCursor(), Log(content=b"one\ntwo", truncated=True), ended=ended, now=LATER).stuck


@pytest.mark.parametrize("words", [WORDS, b"\n", b"one\ntwo\n", b"2026-01-01 12:00:00 a program's own time\n"])
def test_an_answer_without_timestamps_is_not_taken_for_a_log(words: bytes) -> None:
    assert received(words, PAGE_BYTES) == Unreadable(f"what came is no log: {' '.join(words.decode().split())}")


@pytest.mark.parametrize("content", [b"", stamped([""]), stamped(["one"])[:-2], b"rest\n" + stamped(["one"])])
def test_a_log_is_taken_for_one_whether_empty_cut_or_without_its_beginning(content: bytes) -> None:
    assert received(content, PAGE_BYTES) == Log(content=content)
    assert received(content + stamped(["more"]), len(content)) == Log(content=content, truncated=True)


@pytest.mark.parametrize("content", [b"", stamped(["one", "two"])], ids=["nothing", "only what is older"])
def test_a_log_that_shows_nothing_of_what_was_read_is_a_gap_at_its_end_and_before_that_lost(content: bytes) -> None:
    cursor, page = advance(LogCursor(), stamped(["three"], start=9)), Log(content=content)
    assert is_lost(cursor, page)
    window = new_lines(cursor, page, ended=True, now=LATER)
    assert (window.lines, window.last, window.gap) == (b"", True, True)
    assert not new_lines(cursor, page, ended=False, now=LATER).gap


@pytest.mark.parametrize(
    ("cursor", "page"),
    [
        pytest.param(LogCursor(), Log(), id="nothing was read"),
        pytest.param(advance(LogCursor(), stamped(["one"])), Log(content=stamped(["one"])), id="nothing is new"),
        pytest.param(advance(LogCursor(), stamped(["one"])), Log(content=stamped(["two"], start=9)), id="rotated"),
        pytest.param(advance(LogCursor(), stamped(["one"])), Log(truncated=True), id="another page follows"),
    ],
)
def test_a_log_is_not_lost_where_it_shows_what_was_read_or_what_came_later(cursor: LogCursor, page: Log) -> None:
    assert not is_lost(cursor, page)


def test_lines_without_a_timestamp_belong_to_the_line_before() -> None:
    content = stamped(["one"]) + b"more of one\nand more\n" + stamped(["two"], start=1)
    cursor = advance(LogCursor(), content[: content.index(b"and more")])
    window = new_lines(cursor, Log(content=content), ended=True, now=LATER)
    assert texts(window.lines) == ["two"]


def test_a_clock_that_was_set_back_loses_no_line_of_a_page() -> None:
    content = stamped(["one", "two"], start=100, step=1) + stamped(["three", "four"], start=50, step=1)
    cursor = advance(LogCursor(), stamped(["one", "two"], start=100, step=1))
    assert texts(new_lines(cursor, Log(content=content), ended=True, now=LATER).lines) == ["three", "four"]


@pytest.mark.parametrize(
    ("line", "stamp", "second", "text"),
    [
        (b"2026-01-01T12:00:00.123456789Z hello", b"2026-01-01T12:00:00.123456789Z", "2026-01-01T12:00:00Z", b"hello"),
        (b"2026-01-01T05:00:00.5-07:00  hello", b"2026-01-01T05:00:00.5-07:00", "2026-01-01T12:00:00Z", b" hello"),
        (b"2026-01-01T17:30:00+05:30 ", b"2026-01-01T17:30:00+05:30", "2026-01-01T12:00:00Z", b""),
        (b"2026-01-01T12:00:00Z", b"2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z", b""),
        (b"2026-01-01 12:00:00 hello", None, None, b"2026-01-01 12:00:00 hello"),
        (b"2026-01-01T12:00:00Zhello", None, None, b"2026-01-01T12:00:00Zhello"),
        (b"", None, None, b""),
    ],
)
def test_the_kubelets_timestamp_is_told_from_the_text(
    line: bytes, stamp: bytes | None, second: str | None, text: bytes
) -> None:
    assert stamp_of(line) == stamp
    assert (whole_second(stamp.decode()) if stamp else None) == second
    assert line[text_start(line, 0) :] == text


@pytest.mark.parametrize(
    "stamp", [b"2026-02-31T12:00:00Z", b"2026-01-01T12:00:00+99:99", b"0001-01-01T00:00:00+12:00", b""]
)
def test_an_impossible_timestamp_is_none(stamp: bytes) -> None:
    assert moment_of(stamp) is None


def test_timestamps_of_all_zones_compare() -> None:
    assert nanoseconds(b"2026-01-01T05:00:00.000000001-07:00") == nanoseconds(b"2026-01-01T12:00:00.000000001Z")
    assert nanoseconds(b"1970-01-01T00:00:01.5Z") == 1_500_000_000


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b"10%\r20%\n", b"10%\r20%\n"),
        (b"\x1b[1;32mgreen\x1b[0m \x1b[38;5;9mred\x1b[m\n", b"green red\n"),
        (b"\x1b]0;title\x07text\n", b"text\n"),
        (b"cut \xe2\x82", "cut �".encode()),
        (b"bad \xff\xfe\n", "bad ��\n".encode()),
        ("Zoë\n".encode(), "Zoë\n".encode()),
        (b"\x00\n", b"\x00\n"),
    ],
)
def test_lines_are_made_readable(raw: bytes, text: bytes) -> None:
    assert readable(raw) == text
