"""Lines of any length are read in time that grows no faster than they do, whatever they are made of.

Each run here is so long that reading it in the square of its length would take minutes.
"""

from __future__ import annotations

import pytest

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.measurements.nccl import read_table
from sync_hooks.measurements.summary import rows_seen
from sync_hooks.measurements.training import read_lines
from tests.sync_hooks.measurements.readings import ALL_REDUCE, HEAD, IN, LARGE, OUT
from tests.sync_hooks.measurements.tables import SWEEP, row, table
from tests.sync_hooks.measurements.trainings import training_profile
from tests.sync_hooks.measurements.worlds import profile

LENGTH = 1 << 18
PIECES = {
    "letters": "a",
    "digits": "1",
    "dots": ".",
    "blanks": " ",
    "numbers": "1 ",
    "decimals": "1.",
    "hosts": "a:1:1 ",
    "brackets": "[",
    "tags": "[1,",
    "colours": "\x1b[",
    "titles": "\x1b]",
    "beginnings of messages": "a:1:1 [0] NCCL ",
    "beginnings of rows": "8 8 ",
    "lines of numbers": "1 " * 1000 + "\n",
    "empty lines": "\n",
}
"""What long lines are made of: whatever an expression may begin with, or go on with."""

TABLE = table(SWEEP)


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize(
    "torn",
    [
        pytest.param("{row}{run}", id="behind a row"),
        pytest.param("{head}{run}\n{out} {in_}", id="within a row"),
        pytest.param("{head}\n{run}\n{out} {in_}", id="between the lines of a row"),
        pytest.param("{run}{row}", id="before a row"),
    ],
)
def test_a_table_with_a_long_line_is_read_to_its_end(torn: str, piece: str) -> None:
    run = piece * (LENGTH // len(piece))
    lines = [*TABLE[:4], torn.format(row=row(LARGE), head=HEAD, out=OUT, in_=IN, run=run), *TABLE[4:]]
    reading = read_table(BandwidthReading(), "\n".join(lines).encode(), profile("nccl-bandwidth"), ALL_REDUCE)
    assert rows_seen(reading) >= len(SWEEP)


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_training_with_a_long_line_is_read_to_its_end(piece: str) -> None:
    run = piece * (LENGTH // len(piece))
    stamped = r"^at (?P<timestamp>.*): step (?P<globalStep>\d+)(?: at (?P<tflops>\S+) TFLOP)?"
    patterns = {"trainingStep": {"regex": stamped}, "applicationStart": {"regex": "^up (?P<timestamp>.*)"}}
    lines = [f"up {run}", f"at {run}: step 1", f"at 12:00: step 2 {run}", f"at 12:01: step 3 at {run} TFLOP"]
    text = "\n".join([*lines, "at 12:02: step 4"]).encode()
    using = training_profile(patterns=patterns)
    assert read_lines(EarlierRuns(), GoodputRun(workload_uid="uid"), text, using)[1].highest_step == 4
