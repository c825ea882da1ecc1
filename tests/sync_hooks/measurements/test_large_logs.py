"""Large logs are read to the end: what lies in the middle of 87,000 lines is found, and every step counts."""

from __future__ import annotations

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.observed import Log
from sync_hooks.measurements.reading import read_page
from sync_hooks.measurements.summary import rows_seen
from sync_hooks.measurements.tally import Wanted
from sync_hooks.measurements.training import read_lines
from tests.sync_hooks.measurements.tables import SWEEP, table
from tests.sync_hooks.measurements.trainings import training_profile
from tests.sync_hooks.measurements.worlds import at, example, profile, stamped
from tools.bench.logs import large_log


def test_a_table_in_87000_lines_is_read_whole() -> None:
    page, nccl, wanted = Log(content=large_log(table(SWEEP))), profile("nccl-bandwidth"), Wanted("all_reduce", 16)
    reading, _ = read_page(BandwidthReading(), page, nccl, wanted, ended=True, now=at(10_000))
    assert rows_seen(reading) == 32


def test_a_training_in_87000_lines_is_read_to_its_last_step() -> None:
    content, megatron = large_log(example("megatron-training.log") * 20), profile("megatron-training")
    assert read_lines(EarlierRuns(), GoodputRun(workload_uid="uid"), content, megatron)[1].highest_step == 600


def test_a_step_on_every_line_is_counted() -> None:
    content = stamped([f"step {index} took 1000 at 500 TFLOP" for index in range(1, 10_001)], step=0.001)
    _, run = read_lines(EarlierRuns(), GoodputRun(workload_uid="uid"), content, training_profile())
    assert run.highest_step == 10_000
