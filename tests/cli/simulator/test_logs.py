"""Logs are served as the API server serves them: windows, heads, tails, rotation."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cli.simulator import samples
from cli.simulator.logs import ROTATE_BYTES, Output, read
from cli.simulator.samples import Workload
from tests.cli.simulator.cluster import START

TEN = Output(tuple(f"line {number}" for number in range(10)), START, 100.0, START + timedelta(seconds=100))
LATER = START + timedelta(hours=1)
ALL = 1 << 30


def numbers(content: bytes) -> list[int]:
    return [int(line.rsplit(b" ", 1)[1]) for line in content.splitlines()]


def test_every_line_has_the_kubelets_stamp() -> None:
    content, truncated = read(TEN, LATER, since=None, tail_lines=None, limit_bytes=ALL)
    assert content.splitlines()[0] == b"2026-01-01T00:00:10.000000000Z line 0"
    assert content.splitlines()[9] == b"2026-01-01T00:01:40.000000000Z line 9"
    assert not truncated


def test_what_is_not_printed_yet_cannot_be_read() -> None:
    content, _ = read(TEN, START + timedelta(seconds=35), since=None, tail_lines=None, limit_bytes=ALL)
    assert numbers(content) == [0, 1, 2]


def test_what_a_container_did_not_live_to_print_never_comes() -> None:
    cut = Output(TEN.lines, START, 100.0, START + timedelta(seconds=50), "last words 99")
    content, _ = read(cut, LATER, since=None, tail_lines=None, limit_bytes=ALL)
    assert numbers(content) == [0, 1, 2, 3, 4, 99]


@pytest.mark.parametrize(
    ("since", "found"),
    [
        ("2026-01-01T00:00:50Z", [4, 5, 6, 7, 8, 9]),
        ("2026-01-01T01:00:51+01:00", [5, 6, 7, 8, 9]),
        ("2026-01-01T02:00:00Z", []),
    ],
)
def test_a_window_starts_at_a_moment_of_any_zone(since: str, found: list[int]) -> None:
    content, _ = read(TEN, LATER, since=since, tail_lines=None, limit_bytes=ALL)
    assert numbers(content) == found


def test_a_limit_keeps_the_head_and_says_so() -> None:
    whole, _ = read(TEN, LATER, since=None, tail_lines=None, limit_bytes=ALL)
    content, truncated = read(TEN, LATER, since=None, tail_lines=None, limit_bytes=100)
    assert (content, truncated) == (whole[:100], True)


def test_a_tail_keeps_the_last_lines_of_the_window() -> None:
    content, truncated = read(TEN, LATER, since="2026-01-01T00:00:20Z", tail_lines=3, limit_bytes=ALL)
    assert (numbers(content), truncated) == ([7, 8, 9], False)
    content, _ = read(TEN, LATER, since="2026-01-01T00:01:31Z", tail_lines=3, limit_bytes=ALL)
    assert numbers(content) == [9]


def test_a_large_log_without_rotation_is_whole() -> None:
    lines = tuple(f"{'x' * 60} {number}" for number in range(87_000))
    content, _ = read(Output(lines, START, 60.0), LATER, since=None, tail_lines=None, limit_bytes=ALL)
    assert len(content) < ROTATE_BYTES
    assert len(content.splitlines()) == 87_000


def test_after_a_rotation_only_the_new_file_can_be_read() -> None:
    lines = tuple(f"{'x' * 1000} {number}" for number in range(12_000))
    content, _ = read(Output(lines, START, 60.0), LATER, since=None, tail_lines=None, limit_bytes=ALL)
    found = numbers(content)
    assert found[-1] == 11_999
    assert found[0] > 9_000
    assert len(content) < ROTATE_BYTES


def test_an_empty_log_is_empty() -> None:
    assert read(Output((), START, 0.0), LATER, since=None, tail_lines=5, limit_bytes=10) == (b"", False)


def test_a_sample_table_rises_to_its_peak_and_has_no_wrong_value() -> None:
    table = samples.nccl_table(Workload("all_reduce", 16, ("a", "b")))
    rows = [line.split() for line in table if line[:1] == " "]
    assert [int(row[0]) for row in rows] == [8 << exponent for exponent in range(32)]
    bus = [float(row[7]) for row in rows]
    assert bus == sorted(bus)
    assert 350 < bus[-1] < 380
    assert all(row[8] == row[12] == "0" for row in rows)
    assert abs(bus[-1] / float(rows[-1][6]) - 2 * 15 / 16) < 0.01


def test_one_rank_has_no_bus_bandwidth() -> None:
    rows = [line.split() for line in samples.nccl_table(Workload("all_reduce", 1, ("a",))) if line[:1] == " "]
    assert {row[7] for row in rows} == {"0.00"}


def test_groups_differ_a_little_and_always_in_the_same_way() -> None:
    first, second = (Workload("", 8, (name,)).speed for name in ("a", "b"))
    assert first != second
    assert 0.97 < min(first, second) < max(first, second) < 1.03
    assert first == Workload("", 8, ("a",)).speed


def test_training_steps_carry_the_time_at_which_they_are_printed() -> None:
    lines = samples.training_steps(Workload("", 16, ("a",)), START, 60.0)
    output = Output(lines, START, 60.0)
    assert len(lines) == 11
    for index, line in enumerate(lines[1:], start=1):
        printed = output.time_of(index)
        assert line.startswith(f" [{printed:%Y-%m-%d %H:%M:%S}")
        assert f"iteration {index * 10:>8}/     100" in line
