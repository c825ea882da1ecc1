"""Reading logs of 87,000 lines and 8 MB, against grep counting the lines that match an equivalent pattern.

The product's time is CPU within the process, grep's that of its process, start included. Both read the whole log.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sync_hooks.api.bandwidthmeasurement import BandwidthReading
from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.observed import Log
from sync_hooks.measurements.reading import read_page
from sync_hooks.measurements.summary import rows_seen
from sync_hooks.measurements.tally import Wanted
from sync_hooks.measurements.training import read_lines
from tests.sync_hooks.measurements.tables import SWEEP, table
from tests.sync_hooks.measurements.worlds import at, example, profile, stamped

from .rounds import alternate, cpu_of, cpu_of_command
from .row import Row, Target, below, compared, ratio_at_most

LINES = 87_000
NUMBER = r"[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?"
TABLE_ROW = (
    r"[0-9]+[ \t]+[0-9]+[ \t]+[a-z][A-Za-z0-9_]*([ \t]+[a-z]+)?([ \t]+(-1|[0-9]{1,4}))?"
    rf"[ \t]+{NUMBER}[ \t]+[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?[ \t]+[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?([ \t]|$)"
    r"|NCCL INFO Using network [^ ]"
)
"""The patterns of LogProfile nccl-bandwidth in grep's dialect."""
TRAINING = (
    r"using world size: [0-9]+, data-parallel[- ]size: [0-9]+"
    rf"|iteration +[0-9]+/ *[0-9]+ \|.*elapsed time per iteration \(ms\): *{NUMBER} \|"
    rf".*throughput per GPU \(TFLOP/s/GPU\): *{NUMBER}"
    r"|saving checkpoint at iteration +[0-9]+ to +[^ ]+"
    r"|(scheduled an async checkpoint save at|successfully saved checkpoint from) iteration +[0-9]+ to +[^ ]+"
    r"|loading ([a-z]+ )?checkpoint from +[^ ]+ at iteration +[0-9]+"
    r"|successfully loaded checkpoint from +[^ ]+.* at iteration +[0-9]+"
)
"""The patterns of LogProfile megatron-training in grep's dialect."""


def rows() -> list[Row]:
    """Measure both kinds of measurement. Raises ValueError where a log is not read rightly: that would be no work."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_bandwidth(Path(folder)), *_goodput(Path(folder))]


def _bandwidth(folder: Path) -> list[Row]:
    content, nccl, wanted = large_log(table(SWEEP)), profile("nccl-bandwidth"), Wanted("all_reduce", 16)
    page = Log(content=content)

    def read() -> BandwidthReading:
        return read_page(BandwidthReading(), page, nccl, wanted, ended=True, now=at(10_000))[0]

    if rows_seen(read()) != len(SWEEP):
        raise ValueError("the table was not read")
    return _rows("a table of nccl-tests", folder, content, read, TABLE_ROW, below(100), ratio_at_most(3))


def _goodput(folder: Path) -> list[Row]:
    content, megatron = large_log(example("megatron-training.log") * 20), profile("megatron-training")

    def read() -> GoodputRun:
        return read_lines(EarlierRuns(), GoodputRun(workload_uid="uid"), content, megatron)[1]

    if not read().highest_step:
        raise ValueError("the training was not read")
    return _rows("a training of Megatron-LM", folder, content, read, TRAINING, below(250), None)


def _rows(
    what: str,
    folder: Path,
    content: bytes,
    read: Callable[[], Any],
    pattern: str,
    limit: Target,
    ratio_limit: Target | None,
) -> list[Row]:
    """Measure one reader against grep on the same bytes: with the target in milliseconds, then the ratio's."""
    file = folder / "pod.log"
    file.write_bytes(content)
    grep = cpu_of_command(["grep", "-cE", pattern, str(file)], {**os.environ, "LC_ALL": "C"})
    measured = alternate({"product": cpu_of(read), "grep": grep}, rounds=9)
    value, other = 1e3 * measured.median("product"), 1e3 * measured.median("grep")
    name = f"{what} in {LINES} lines, {len(content) / 1e6:.1f} MB"
    targets = [limit] if ratio_limit is None else [limit, ratio_limit]
    labels = ["", ", against grep"]
    return [
        compared(name + label, value, "ms CPU", "LC_ALL=C grep -cE", other, measured.ratio("product", "grep"), target)
        for label, target in zip(labels, targets, strict=False)
    ]


def large_log(middle: list[str]) -> bytes:
    """Return a log of 8 MB with something in its middle."""
    filler = [
        f"gpu-{index % 16:04}:{index}:77 [{index % 8}] NCCL INFO Channel {index % 24:02}/0 : via P2P/CUMEM/read"
        for index in range(LINES)
    ]
    return stamped([*filler[:16_500], *middle, *filler[16_500:]], step=0.001)
