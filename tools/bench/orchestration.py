"""Whole runs: simulated ones of thousands of groups, reading a large cluster, and one on the real control plane.

Order: the simulated run beside a small one, the Workflow's syncs in it; nodes read from a paged API; the real run.
"""

from __future__ import annotations

from statistics import median

from . import node_reading, real_run, simulated_run
from .real_run import DIRECT, PRODUCT, Costs
from .rounds import Rounds
from .row import Row, below, compared, ratio_at_most, watched
from .simulated_run import Run

SMALL, LARGE, ITERATIONS = 250, 2500, 3
"""Groups of two nodes; 2 % of them fail."""
MOST_CPU_SECONDS = 120.0
MOST_MIB = 1000.0
MOST_GROWTH = 2.0
MOST_SYNC_MILLISECONDS = 60.0

NODES = 5000
READINGS = 3
MOST_READING_SECONDS = 1.5
MOST_READING_MIB = 200.0

GROUPS, CLUSTER, ROUNDS = 200, 1000, 3
"""Groups of two on the real control plane, its nodes, and how often."""
MOST_LATER = 1.25
MOST_HOOK_MILLISECONDS = 30.0


def rows() -> list[Row]:
    """Measure all of it; takes a quarter of an hour. Raises RuntimeError where a run does not end as it should."""
    return [*_simulated(), *_reading(), *real_rows(real_run.measure(GROUPS, CLUSTER, ROUNDS))]


def _simulated() -> list[Row]:
    small, large = simulated_run.measure(SMALL, ITERATIONS), simulated_run.measure(LARGE, ITERATIONS)
    again = simulated_run.measure(SMALL, ITERATIONS)
    each = (small.milliseconds_a_job + again.milliseconds_a_job) / 2
    what = f"{2 * LARGE} simulated nodes in groups of 2, {ITERATIONS} iterations"
    at = f"at {SMALL} groups"
    grown = large.milliseconds_a_job
    status = [run.status_bytes / run.jobs for run in (large, small)]
    return [
        watched(f"{what}, CPU to the verdict", large.cpu_seconds, "s CPU", below(MOST_CPU_SECONDS)),
        watched(f"{what}, peak memory", large.peak_mib, "MiB", below(MOST_MIB)),
        compared(f"{what}, CPU a Job", grown, "ms CPU", at, each, grown / each, ratio_at_most(MOST_GROWTH)),
        compared(f"{what}, Workflow's status written a Job", status[0], "bytes", at, status[1], status[0] / status[1]),
        *sync_rows(large),
    ]


def sync_rows(run: Run) -> list[Row]:
    """Make the rows of a Workflow's sync, one a stage of the run."""
    limit = below(MOST_SYNC_MILLISECONDS)
    found = [
        compared(
            f"sync of a Workflow with {LARGE} groups, {name}",
            stage.milliseconds,
            "ms CPU",
            "json.loads of the request",
            stage.reference,
            stage.ratio,
            limit,
        )
        for name, stage in run.stages.items()
    ]
    return [*found, watched("the longest of all its syncs, measured once", run.longest_sync, "ms CPU")]


def _reading() -> list[Row]:
    found = [node_reading.measure(NODES) for _ in range(READINGS)]
    what = f"reading and planning {NODES} nodes of 20 kB from a paged API"
    seconds = below(MOST_READING_SECONDS)
    return [
        watched(f"{what}, CPU of the reader", median(item.cpu_seconds for item in found), "s CPU", seconds),
        watched(f"{what}, on the clock", median(item.seconds for item in found), "s", seconds),
        watched(f"{what}, peak memory", max(item.peak_mib for item in found), "MiB", below(MOST_READING_MIB)),
    ]


def real_rows(costs: Costs) -> list[Row]:
    """Make the rows of the run on the real control plane."""
    rounds = Rounds(costs.seconds)
    what = f"{GROUPS} groups of 2 on the real control plane with {CLUSTER} nodes"
    value, other, later = rounds.median(PRODUCT), rounds.median(DIRECT), rounds.ratio(PRODUCT, DIRECT)
    cpu = 1e3 * median(costs.hook_cpu) / GROUPS
    return [
        compared(f"{what}, until the verdict", value, "s", "created by hand", other, later, ratio_at_most(MOST_LATER)),
        watched(f"{what}, CPU of the hooks a group", cpu, "ms CPU", below(MOST_HOOK_MILLISECONDS)),
        watched(f"{what}, writes to the API a group", median(costs.writes) / GROUPS, "writes"),
        watched(f"{what}, Workflow's status written a group", median(costs.status_bytes) / GROUPS, "bytes"),
    ]
