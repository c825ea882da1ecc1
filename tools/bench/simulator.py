"""How the simulator's cost grows with the cluster: whole runs by the product's own hooks, on one core.

`measure` is about the simulator alone, with trivial hooks: what the product's hooks cost is the rest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from cli.hooking import admission, hooks
from cli.inputs import shipped_profiles
from cli.simulator.inventory import make
from cli.simulator.scenario import Rule, Scenario
from cli.simulator.simulation import HookFactory, Simulation, product_controllers
from tests.cli.simulator.cluster import NAMESPACE, START, parent
from tests.cli.simulator.tiers import Tiers

from .memory import peak_mib
from .row import Row, Target, compared, watched

SIZES = ((250, 2), (2500, 2), (25_000, 20))
"""Nodes, and nodes a group: the largest has as many groups as the one before it, ten times as large."""
MOST_GROWTH = 2.0
"""CPU of a Job at ten times the Jobs, by that of the smallest."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a simulated run cost."""

    jobs: int
    iterations: int
    cpu_seconds: float
    virtual_seconds: float
    hook_calls: int
    request_bytes: int
    writes: int
    peak_mib: float
    """Of this process so far."""

    @property
    def milliseconds_a_job(self) -> float:
        """CPU by Job and iteration."""
        return 1000 * self.cpu_seconds / (self.jobs * self.iterations)


def rows() -> list[Row]:
    """Measure each size once: the smallest, measured again after the largest, shows how far the machine moved."""
    found = [measure_product(nodes, size) for nodes, size in SIZES]
    again = measure_product(*SIZES[0])
    small = (found[0].milliseconds_a_job + again.milliseconds_a_job) / 2
    return [
        *(_size_row(place, item, small) for place, item in zip(SIZES, found, strict=True)),
        *_exponents(found),
        watched("peak memory of all sizes in one process", again.peak_mib, "MiB"),
    ]


def _size_row(place: tuple[int, int], item: Measured, small: float) -> Row:
    name = f"{place[0]} nodes in groups of {place[1]}, {item.jobs} Jobs, CPU a Job"
    value = item.milliseconds_a_job
    target = Target("<=", MOST_GROWTH, of_ratio=True) if place == SIZES[1] else None
    return compared(name, value, "ms", f"at {SIZES[0][0]} nodes", small, value / small, target)


def _exponents(found: list[Measured]) -> list[Row]:
    exponents = []
    for (smaller, _), (larger, _), before, after in zip(SIZES, SIZES[1:], found, found[1:], strict=False):
        exponent = math.log(after.cpu_seconds / before.cpu_seconds) / math.log(larger / smaller)
        exponents.append(watched(f"growth from {smaller} to {larger} nodes, 1 is linear", exponent, "exponent"))
    return exponents


def measure_product(nodes: int, size: int) -> Measured:
    """Run the product's hooks once on so many nodes in groups of ``size``, measuring no bandwidth."""
    started = time.process_time()
    simulation = Simulation(
        make(f"aws/h100x{nodes}"), Scenario((Rule(after=60.0),)), hooks, datetime(2026, 1, 1, tzinfo=UTC)
    )
    spec = {
        "image": "registry.example/image:1",
        "numNodes": size,
        "framework": {"exec": {"command": ["true"]}},
        "gangScheduler": {"schedulerName": "kai-scheduler"},
    }
    run = {**parent(), "spec": spec}
    simulation.apply([*shipped_profiles(), run], admission)
    return _finish(simulation, "verdict", nodes // size, 1, started)


def measure(jobs: int, iterations: int, *, bandwidth: bool = True) -> Measured:
    """Run ``jobs`` groups of two nodes ``iterations`` times by trivial hooks."""
    started = time.process_time()
    factory: HookFactory = Tiers(jobs, iterations, measure=bandwidth).factory
    nodes = make(f"aws/h100x{2 * jobs}")
    simulation = Simulation(nodes, Scenario(), factory, START, controllers=product_controllers())
    simulation.apply([parent()], lambda _, obj: obj)
    return _finish(simulation, "phase", jobs, iterations, started)


def _finish(simulation: Simulation, field: str, jobs: int, iterations: int, started: float) -> Measured:
    """Run until the run's status says so in ``field``. Raises RuntimeError where it never does."""
    report = simulation.run(48 * 3600, _ended(simulation, field))
    if report.stopped != "done":
        raise RuntimeError(f"the run did not end: {report.stopped}")
    return Measured(
        jobs=jobs,
        iterations=iterations,
        cpu_seconds=time.process_time() - started,
        virtual_seconds=report.virtual_seconds,
        hook_calls=sum(item.calls for item in report.hooks),
        request_bytes=sum(item.request_bytes for item in report.hooks),
        writes=sum(item.requests for item in report.writes),
        peak_mib=peak_mib(),
    )


def _ended(simulation: Simulation, field: str) -> Callable[[], bool]:
    def ended() -> bool:
        run = simulation.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", NAMESPACE, "run")
        status = (run.obj.get("status") or {}) if run else {}
        return bool(status.get("verdict")) if field == "verdict" else status.get("phase") == "Done"

    return ended
