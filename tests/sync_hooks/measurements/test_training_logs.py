"""The sample logs of training frameworks, read by the profiles that come with the product."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.measurements.clock import parse_micro
from sync_hooks.measurements.goodput import average_step_time, average_tflops, close
from sync_hooks.measurements.training import read_lines
from tests.sync_hooks.measurements.worlds import ROOT, kubelet, profile

BEGAN = datetime(2026, 11, 30, 5, 1, 50, tzinfo=UTC)
PRINTED = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:,(\d{3}))?")


def sample(name: str) -> list[str]:
    """The lines of a sample log, bars that are rewritten in their line and all."""
    return (ROOT / "examples" / "logs" / f"{name}.log").read_bytes().decode().removesuffix("\n").split("\n")


def served(lines: list[str], zone: str = "Z", seconds: float = 0) -> bytes:
    """The lines as the kubelet serves them: at the time that they print, or ``seconds`` after the one before."""
    moment, texts = BEGAN, []
    for line in lines:
        printed = PRINTED.search(line)
        moment += timedelta(seconds=seconds)
        if printed and not seconds:
            moment = datetime.fromisoformat(printed[1]).replace(tzinfo=UTC, microsecond=int(printed[2] or 0) * 1000)
        texts.append(f"{kubelet(moment + timedelta(milliseconds=3), zone)} {line}\n")
    return "".join(texts).encode()


def read(name: str, content: bytes) -> GoodputRun:
    """What an attempt that printed this has come to."""
    return read_lines(EarlierRuns(), GoodputRun(workload_uid="uid"), content, profile(name))[1]


def step_time(run: GoodputRun) -> float | None:
    """Seconds a step over the whole attempt."""
    last = parse_micro(run.last_step_time)
    assert last is not None
    return average_step_time(close(EarlierRuns(), run, last, interrupted=False).sums)


def test_nemo_prints_the_time_of_every_step_and_of_every_save() -> None:
    run = read("nemo-4-training", served(sample("nemo-4-training")))
    assert (run.first_step, run.last_step, run.sums.timings) == (1, 99, 98)
    assert average_step_time(run.sums) == pytest.approx(3.683388, abs=1e-6)
    assert average_tflops(run.sums) == pytest.approx(1041.469388, abs=1e-6)
    assert run.sums.warmup_sec == 4.412
    assert (run.checkpoint_step, run.save_sec) == (99, 4.389 + 5.127)
    assert run.application_start_time == "2026-11-30T05:01:50.000000Z"


def test_a_step_of_nemo_without_its_throughput_counts_too() -> None:
    lines = [re.sub(r" \| TFLOPS_per_GPU: \S+", "", line) for line in sample("nemo-4-training")]
    run = read("nemo-4-training", served(lines))
    assert (run.sums.timings, average_tflops(run.sums)) == (98, None)


@pytest.mark.parametrize("name", ["megatron-training", "megatron-bridge"])
def test_a_step_of_megatron_without_its_throughput_counts_too(name: str) -> None:
    lines = [re.sub(r" throughput per GPU [^|]*\|", "", line) for line in sample("megatron-training")]
    whole, bare = read(name, served(sample("megatron-training"))), read(name, served(lines))
    assert (bare.last_step, bare.sums.timings) == (whole.last_step, whole.sums.timings)
    assert average_step_time(bare.sums) == average_step_time(whole.sums)
    assert (whole.sums.tflops_lines > 0, average_tflops(bare.sums)) == (True, None)


@pytest.mark.parametrize("name", ["megatron-training", "megatron-bridge", "torchtitan"])
def test_wherever_a_line_is_torn_its_throughput_is_read_whole_or_not_at_all(name: str) -> None:
    lines = sample("torchtitan" if name == "torchtitan" else "megatron-training")
    first, *_, line = [line for line in lines if re.search(r"(?:step:|iteration) +[123]0\b", line)]
    rates = {read(name, served([first, line[:cut], line[cut:]], seconds=1)).sums.tflops for cut in range(len(line))}
    assert rates == {0, read(name, served([first, line], seconds=1)).sums.tflops}


@pytest.mark.parametrize("zone", ["Z", "-08:00", "+05:30"])
def test_torchtitan_prints_no_step_time_so_that_the_time_between_lines_counts(zone: str) -> None:
    run = read("torchtitan", served(sample("torchtitan"), zone))
    assert (run.first_step, run.last_step, run.sums.timings) == (10, 200, 0)
    assert run.first_step_time == "2026-11-30T05:02:58.731000Z"
    assert step_time(run) == pytest.approx(4.7683, abs=1e-4)
    assert (run.checkpoint_time is not None, run.save_sec) == (True, 13.28)


def test_torchtitans_throughput_has_separators_of_thousands_and_colours_around_it() -> None:
    run = read("torchtitan", served(sample("torchtitan")))
    assert run.sums.tflops_lines == 19
    assert average_tflops(run.sums) == pytest.approx(1009.094737, abs=1e-6)


def test_torchtitan_is_read_without_colours_and_behind_the_prefix_of_its_launcher_too() -> None:
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in sample("torchtitan")]
    coloured, bare = read("torchtitan", served(sample("torchtitan"))), read("torchtitan", served(plain))
    assert read("torchtitan", served([f"[rank0]:{line}" for line in plain])) == bare == coloured


def test_a_validation_of_torchtitan_is_no_training_step() -> None:
    [validation] = [line for line in sample("torchtitan") if "validate" in line]
    assert read("torchtitan", served([validation])).last_step is None


def test_of_a_bar_that_is_rewritten_in_its_line_the_last_state_counts() -> None:
    run = read("lightning", served(sample("lightning"), seconds=46))
    assert (run.first_step, run.last_step, run.checkpoint_step) == (49, 299, 300)
    assert step_time(run) == 1.84, "two lines an epoch of 50 steps, 46 s apart"
    assert run.application_start_time == "2026-11-30T05:02:36.003000Z"


def test_where_every_state_has_a_line_all_of_them_count() -> None:
    lines = "\n".join(sample("lightning")).replace("\r", "\n").split("\n")
    run = read("lightning", served(lines, seconds=10))
    assert (run.first_step, run.last_step, run.highest_step) == (9, 299, 299)


def test_lightning_without_a_global_step_counts_within_its_epoch_and_knows_no_rate() -> None:
    lines = [re.sub(r", global_step=[\d.]+", "", line) for line in sample("lightning")[:18]]
    run = read("lightning", served(lines, seconds=46))
    assert (run.last_step, run.sums.timings, average_step_time(run.sums)) == (50, 0, None)


def test_a_save_that_lightning_only_announces_counts_its_step_and_no_time() -> None:
    run = read("lightning", served(sample("lightning"), seconds=46))
    assert (run.save_sec, run.checkpoint_time is not None) == (0, True)


@pytest.mark.parametrize(
    ("name", "restored"),
    [
        ("nemo-4-training", "Restoring states from the checkpoint path at /checkpoint/step=49-last"),
        ("torchtitan", "[titan] 2026-11-30 05:40:00,000 - root - INFO - Loading the checkpoint at step 100."),
        ("torchtitan", "[titan] 2026-11-30 05:40:00,000 - root - INFO - Loading the checkpoint from /data/step-100."),
        ("lightning", "Restoring states from the checkpoint path at /checkpoint/epoch=0-step=50.ckpt"),
    ],
)
def test_a_restore_begins_a_new_warm_up(name: str, restored: str) -> None:
    lines = sample(name)
    first = next(index for index, line in enumerate(lines) if "tep: 10 " in line or "Epoch 2:" in line)
    content = served([*lines, restored, lines[first]], seconds=5)
    assert read(name, content).warmup_base_step in (10, 149)
