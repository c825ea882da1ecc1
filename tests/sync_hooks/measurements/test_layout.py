"""Go's reference-time layouts as parsers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sync_hooks.measurements.clock import event_time
from sync_hooks.measurements.layout import compile_layout
from sync_hooks.measurements.moment import Moment

NEAR = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)


def parse(layout: str, text: str, near: datetime | None = NEAR) -> Moment | None:
    compiled = compile_layout(layout)
    assert not isinstance(compiled, str), compiled
    return compiled(text, near)


@pytest.mark.parametrize(
    ("layout", "text", "time", "zoned"),
    [
        pytest.param("2006-01-02 15:04:05", "2026-11-30 05:06:07", "2026-11-30T05:06:07", False, id="plain"),
        pytest.param(
            "2006-01-02 15:04:05",
            "2026-11-30 05:06:07.25",
            "2026-11-30T05:06:07.25",
            False,
            id="a fraction not in the layout",
        ),
        pytest.param(
            "2006-01-02 15:04:05",
            "2026-11-30 05:06:07,123456789",
            "2026-11-30T05:06:07.123456",
            False,
            id="a comma and nanoseconds",
        ),
        pytest.param(
            "2006-01-02 15:04:05.999999",
            "2026-11-30 05:06:07",
            "2026-11-30T05:06:07",
            False,
            id="no fraction where the layout has one",
        ),
        pytest.param(
            "2006-01-02T15:04:05.000Z07:00",
            "2026-11-30T05:06:07.5+02:00",
            "2026-11-30T03:06:07.5",
            True,
            id="offset with colon",
        ),
        pytest.param("2006-01-02T15:04:05Z07:00", "2026-11-30T05:06:07Z", "2026-11-30T05:06:07", True, id="Z"),
        pytest.param(
            "2006-01-02 15:04:05 -0700",
            "2026-11-30 05:06:07 -0730",
            "2026-11-30T12:36:07",
            True,
            id="offset without colon",
        ),
        pytest.param(
            "2006-01-02 15:04:05 -07", "2026-11-30 05:06:07 +05", "2026-11-30T00:06:07", True, id="offset in hours"
        ),
        pytest.param(
            "2006-01-02 15:04:05 MST", "2026-11-30 05:06:07 UTC", "2026-11-30T05:06:07", True, id="UTC by name"
        ),
        pytest.param(
            "2006-01-02 15:04:05 MST",
            "2026-11-30 05:06:07 CST",
            "2026-11-30T05:06:07",
            False,
            id="a name of several zones",
        ),
        pytest.param("Mon Jan _2 15:04:05 2006", "Mon Nov  3 05:06:07 2026", "2026-11-03T05:06:07", False, id="ANSI C"),
        pytest.param(
            "Monday, 02-Jan-06 15:04:05 MST",
            "Monday, 30-Nov-26 05:06:07 GMT",
            "2026-11-30T05:06:07",
            True,
            id="RFC 850",
        ),
        pytest.param(
            "January 2, 2006 at 3:04pm",
            "November 3, 2026 at 5:04pm",
            "2026-11-03T17:04:00",
            False,
            id="words and twelve hours",
        ),
        pytest.param("3:04PM 2 Jan 2006", "12:04AM 3 Nov 2026", "2026-11-03T00:04:00", False, id="midnight"),
        pytest.param("20060102150405", "20261130050607", "2026-11-30T05:06:07", False, id="digits only"),
        pytest.param("2006 002 15:04:05", "2026 334 05:06:07", "2026-11-30T05:06:07", False, id="day of the year"),
        pytest.param(
            "0102 15:04:05.000000",
            "1231 23:59:59.5",
            "2025-12-31T23:59:59.5",
            False,
            id="no year, just before new year",
        ),
        pytest.param("15:04:05", "23:59:59", "2025-12-31T23:59:59", False, id="no date, just before midnight"),
    ],
)
def test_a_text_is_read_as_go_reads_it(layout: str, text: str, time: str, zoned: bool) -> None:
    assert parse(layout, text) == Moment(datetime.fromisoformat(time).replace(tzinfo=UTC), zoned)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        pytest.param("2006-01-02 15:04:05", "2026-02-31 05:06:07", id="no such day"),
        pytest.param("2006-01-02 15:04:05", "2026-11-30 25:06:07", id="no such hour"),
        pytest.param("2006-01-02 15:04:05", "2026-11-30 05:60:07", id="no such minute"),
        pytest.param("2006-01-02 15:04:05", "2026-13-30 05:06:07", id="no such month"),
        pytest.param("2006-01-02 15:04:05", "2026-11-30 05:06:07 and more", id="more text"),
        pytest.param("2006-01-02 15:04:05", "", id="nothing"),
        pytest.param("2006-01-02T15:04:05Z07:00", "0001-01-01T00:00:00+12:00", id="before the first year"),
        pytest.param("3:04PM 2006-01-02", "13:04PM 2026-01-01", id="thirteen of twelve hours"),
    ],
)
def test_what_does_not_fit_is_no_time(layout: str, text: str) -> None:
    assert parse(layout, text) is None


def test_a_missing_date_is_unknown_without_a_time_nearby() -> None:
    assert parse("15:04:05", "23:59:59", near=None) is None


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        pytest.param("%Y-%m-%d %H:%M:%S", "names no time of day", id="strftime"),
        pytest.param("YYYY-MM-DD HH:mm:ss", "names no time of day", id="Java"),
        pytest.param("2006-01-02 HH:mm:ss", "names no time of day", id="half Java"),
        pytest.param("2006-02 15:04:05", "half a date", id="year and day"),
        pytest.param("2006-01-02 03:04:05", "twelve without PM", id="twelve hours"),
        pytest.param("2006-01-02 15:04:05 2006", "twice", id="two years"),
        pytest.param("", "names no time of day", id="empty"),
    ],
)
def test_a_layout_that_names_no_usable_time_is_refused_in_words(layout: str, complaint: str) -> None:
    compiled = compile_layout(layout)
    assert isinstance(compiled, str)
    assert complaint in compiled


STAMP = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("captured", "zoned", "settled"),
    [
        pytest.param(
            timedelta(seconds=-3), False, timedelta(seconds=-3), id="UTC, three seconds before it was flushed"
        ),
        pytest.param(timedelta(hours=-7, seconds=-3), False, timedelta(seconds=-3), id="local time in the west"),
        pytest.param(timedelta(hours=5, minutes=45), False, timedelta(), id="local time in Nepal"),
        pytest.param(timedelta(minutes=-50), False, timedelta(minutes=-50), id="UTC, flushed late"),
        pytest.param(timedelta(hours=5, minutes=9), False, timedelta(minutes=-21), id="in India, flushed late"),
        pytest.param(timedelta(hours=-7, minutes=-40), False, timedelta(minutes=-40), id="in the west, flushed late"),
        pytest.param(timedelta(minutes=5), False, timedelta(minutes=5), id="a clock that is ahead"),
        pytest.param(timedelta(hours=14, minutes=10), False, timedelta(), id="a clock of no zone"),
        pytest.param(timedelta(seconds=-3), True, timedelta(seconds=-3), id="with its zone"),
        pytest.param(timedelta(minutes=-40), True, timedelta(minutes=-40), id="with its zone, flushed late"),
        pytest.param(timedelta(days=-40), True, timedelta(), id="a clock of another time"),
        pytest.param(timedelta(days=300), False, timedelta(), id="a log of another time"),
    ],
)
def test_the_logs_clock_counts_where_it_agrees_with_the_kubelets(
    captured: timedelta, zoned: bool, settled: timedelta
) -> None:
    assert event_time(Moment(STAMP + captured, zoned), STAMP) == STAMP + settled


def test_one_clock_is_enough() -> None:
    assert event_time(None, STAMP) == STAMP
    assert event_time(Moment(STAMP, zoned=False), None) == STAMP
    assert event_time(None, None) is None
