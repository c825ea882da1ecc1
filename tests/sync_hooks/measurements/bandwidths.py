"""Jobs with a bandwidth table, running or finished, and what their measurement came to."""

from __future__ import annotations

from typing import Any

from tests.sync_hooks.measurements.tables import SWEEP, table
from tests.sync_hooks.measurements.worlds import World, job, pod, stamped

POD = "job-w0-launcher-0-0"
MESSAGE = "gpu-0000:311:342 [0] NCCL INFO comm 0x55 rank 0 nranks 16 - Destroy COMPLETE"
TABLE = table(SWEEP)


def world(**more: Any) -> World:
    """A Job that runs and has printed a whole table."""
    fields = {"spec": {"testType": "all_reduce", "ranks": 16}, "logs": {POD: stamped(TABLE)}, **more}
    return World(**fields)


def ended(running: World, phase: str = "Succeeded", end: float = 60) -> World:
    running.job = job(phase, end=end, **running.job["spec"] if running.job else {})
    running.pods = (pod(phase=phase),)
    return running


def finished(**more: Any) -> World:
    return ended(world(**more))


def outcome(done: World) -> tuple[str, str]:
    complete = done.condition("Complete")
    assert complete.get("status") == "True", done.status
    assert done.condition("Measuring")["reason"] == complete["reason"]
    return complete["reason"], complete["message"]


def peak(done: World) -> float | None:
    value: float | None = done.status.get("summary", {}).get("peakBusBandwidthGBps")
    return value
