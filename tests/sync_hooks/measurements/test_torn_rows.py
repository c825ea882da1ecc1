"""Rows that messages tear apart: put together again, or left out; never read wrong."""

from __future__ import annotations

import dataclasses

import pytest

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.api.observed import Log
from sync_hooks.measurements.reading import read_page
from sync_hooks.measurements.stamp import stamp_of
from sync_hooks.measurements.summary import shown, wrong_count
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
)
from tests.sync_hooks.measurements.tables import (
    NEW,
    placement,
    row,
    table,
)
from tests.sync_hooks.measurements.worlds import at, profile, stamped


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param([f"{HEAD} {OUT} {IN}{MESSAGE}"], id="message glued to the end"),
        pytest.param([f"{HEAD}{MESSAGE}", f"{OUT} {IN}"], id="message glued to the root"),
        pytest.param([f"{HEAD} {MESSAGE}", MESSAGE, f"{OUT} {IN}"], id="messages before the time"),
        pytest.param([f"{HEAD} {OUT}{MESSAGE}", MESSAGE, IN], id="messages between the placements"),
        pytest.param([HEAD, WARNING, f"{OUT} {IN}"], id="warning with a line feed of its own"),
        pytest.param([HEAD, "", WARNING, "libfabric: some warning", OUT, MESSAGE, IN], id="three parts among noise"),
        pytest.param([f"{HEAD} [2026-01-01 10:00:00] {MESSAGE}", f"{OUT} {IN}"], id="message with a time"),
    ],
)
def test_a_row_torn_by_messages_is_put_together_again(torn: list[str]) -> None:
    lines = table([])
    reading = read([*lines[:4], *torn, *lines[4:]])
    assert results(reading) == expected([LARGE])
    assert wrong_count(reading) == 5
    assert reading.unread is None


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param([HEAD, MESSAGE, "42", f"{OUT} {IN}"], id="a stray number among the parts"),
        pytest.param([f"{HEAD} {OUT[:6]}{MESSAGE}", f"{OUT[6:]} {IN}"], id="torn within a number"),
        pytest.param([HEAD, MESSAGE, placement(1 << 20, 7.0, "0"), placement(1 << 20, 7.0, "0")], id="another's rest"),
        pytest.param([HEAD, MESSAGE], id="the rest is missing"),
        pytest.param([f"{row(LARGE)[5:]}"], id="the first digits of the size are lost"),
    ],
)
def test_a_row_whose_parts_do_not_add_up_gives_no_number(torn: list[str]) -> None:
    lines = table([])
    reading = read([*lines[:4], *torn, *lines[4:]])
    assert results(reading) == []
    assert reading.unread == 1
    assert "could not be read" in str(shown(reading, ALL_REDUCE)["notes"])


WHOLE = row(dataclasses.replace(LARGE, in_place_last="5"))


@pytest.mark.parametrize(
    "between", [f"\n{MESSAGE}\n", f"{MESSAGE}\n", f"\n{WARNING}\n", "\n"], ids=["line", "glued", "warning", "feed"]
)
def test_wherever_a_row_is_torn_it_gives_its_own_numbers_or_none(between: str) -> None:
    lines, found = table([]), set()
    for cut in range(1, len(WHOLE)):
        torn = (WHOLE[:cut] + between + WHOLE[cut:]).split("\n")
        reading = read([*lines[:4], *torn, *lines[4:]])
        assert results(reading) in ([], expected([LARGE])), f"torn at {cut}: {torn}"
        found.add(len(results(reading)))
    assert found == {0, 1}


def test_a_torn_header_does_not_make_a_torn_row_whole() -> None:
    header = f"# {NEW.header}"
    cut = header.index("busbw") + len("busbw")
    torn = [header[:cut], MESSAGE, header[cut:], WHOLE[: WHOLE.index("468.") + 4], "", WARNING]
    assert results(read(torn)) == []


def test_a_torn_row_waits_for_its_rest_over_samples() -> None:
    lines = table([])
    content = stamped([*lines[:4], HEAD, MESSAGE, WARNING, OUT, MESSAGE, IN, *lines[4:]])
    reading = BandwidthReading()
    for end in (index + 1 for index, letter in enumerate(content) if letter == ord("\n")):
        page = Log(content=content[:end])
        reading, _ = read_page(reading, page, profile("nccl-bandwidth"), ALL_REDUCE, ended=False, now=at(9999))
    assert (results(reading), wrong_count(reading), reading.unread) == (expected([LARGE]), 5, None)


def test_a_row_whose_rest_never_comes_holds_up_nothing() -> None:
    lines = table([])
    content = stamped([*lines[:4], HEAD, *[MESSAGE] * 600, *lines[4:]])
    reading, window = read_page(
        BandwidthReading(), Log(content=content), profile("nccl-bandwidth"), ALL_REDUCE, ended=False, now=at(9999)
    )
    assert reading.cursor.last_line_time == stamp_of(content, content.rindex(b"\n", 0, -1) + 1).decode()
    assert (results(reading), reading.unread, window.last) == ([], 1, False)
