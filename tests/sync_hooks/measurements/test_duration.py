"""Durations as Go reads and writes them."""

from __future__ import annotations

import pytest

from sync_hooks.api.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("1m1m", 120.0),
        ("250ms", 0.25),
        ("1µs", 1e-6),  # the micro sign
        ("1μs", 1e-6),  # the Greek letter
        ("0", 0.0),
        ("-1m", -60.0),
        ("+1m", 60.0),
        ("2562047h", 2562047 * 3600.0),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "1d", "1h 30m", "s", ".s", "1e3s", "--1s", "1S", "2562048h", "9" * 200 + "s", "1" * 5000]
)
def test_what_go_refuses_is_none(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5400, "1h30m0s"), (90, "1m30s"), (1.5, "1.5s"), (0.25, "250ms"), (1.5e-6, "1.5µs"), (0, "0s"), (-61, "-1m1s")],
)
def test_seconds_are_written_as_go_writes_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
