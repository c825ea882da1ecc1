"""What 2,500 running measurements cost that look at their logs once a minute, against grep over the same lines.

Each sync reads what its pod has printed since the one before. The bench's own stand-in for the API server is part of
the product's number.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.sync_hooks.measurements.bandwidths import POD, world
from tests.sync_hooks.measurements.worlds import stamp, stamped

from .logs import TABLE_ROW
from .rounds import alternate, cpu_of, cpu_of_command
from .row import Row, below, compared

MEASUREMENTS = 2500
INTERVAL_SECONDS = 60
ROUNDS = 9
LINES_A_SECOND = 10  # of one pod, with NCCL's debug output on


def rows() -> list[Row]:
    """Measure one sync, and say what all of them need together, in cores."""
    lines = [
        f"gpu-0001:77:77 [{index % 8}] NCCL INFO Channel {index % 24:02}/0"
        for index in range(INTERVAL_SECONDS * LINES_A_SECOND)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pod.log"
        file.write_bytes(stamped(lines, step=1 / LINES_A_SECOND))
        grep = cpu_of_command(["grep", "-cE", TABLE_ROW, str(file)], {**os.environ, "LC_ALL": "C"}, codes=(0, 1))
        measured = alternate({"product": cpu_of(_sample(lines)), "grep": grep}, rounds=ROUNDS)
    cores = MEASUREMENTS / INTERVAL_SECONDS
    name = f"{MEASUREMENTS} measurements, each looking every {INTERVAL_SECONDS} s"
    value, other = cores * measured.median("product"), cores * measured.median("grep")
    return [compared(name, value, "cores", "LC_ALL=C grep -cE", other, measured.ratio("product", "grep"), below(1))]


def _sample(lines: list[str]) -> Callable[[], None]:
    """Return one sync of a running measurement; each call is a minute later than the one before."""
    running = world()
    running.sync(1)
    minutes = iter([_minute(lines, number) for number in range(1, ROUNDS + 2)])

    def sync() -> None:
        now, printed = next(minutes)
        running.logs = {POD: printed}
        running.sync(now)
        if running.status["lastSampleTime"] != stamp(now):
            raise ValueError("the log was not looked at")

    return sync


def _minute(lines: list[str], number: int) -> tuple[float, bytes]:
    """Return when a minute is over, and what was printed in it."""
    began = number * INTERVAL_SECONDS
    return began + INTERVAL_SECONDS + 1, stamped(lines, start=began, step=1 / LINES_A_SECOND)
