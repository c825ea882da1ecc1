"""Measures the simulator alone, with trivial hooks: ``python -m tests.cli.simulator.bench [JOBS...]``."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

from cli.simulator.inventory import make
from cli.simulator.scenario import Scenario
from cli.simulator.simulation import Simulation, product_controllers
from tests.cli.simulator.cluster import NAMESPACE, START, parent
from tests.cli.simulator.tiers import Tiers


@dataclass(frozen=True)
class Measured:
    jobs: int
    iterations: int
    cpu_seconds: float
    virtual_seconds: float
    hook_calls: int
    request_bytes: int
    writes: int
    peak_mib: float

    def __str__(self) -> str:
        each = 1000 * self.cpu_seconds / (self.jobs * self.iterations)
        return (
            f"{self.jobs} jobs x {self.iterations}: {self.cpu_seconds:.1f} s CPU ({each:.2f} ms a job), "
            f"{self.virtual_seconds:.0f} s virtual, {self.hook_calls} hook calls, {self.request_bytes / 1e6:.0f} MB "
            f"of requests, {self.writes} writes, peak {self.peak_mib:.0f} MiB"
        )


def measure(jobs: int, iterations: int, *, bandwidth: bool = True) -> Measured:
    """Run ``jobs`` groups of two nodes ``iterations`` times and report what it cost."""
    before = time.process_time()
    tiers = Tiers(jobs, iterations, measure=bandwidth)
    simulation = Simulation(
        make(f"aws/h100x{2 * jobs}"), Scenario(), tiers.factory, START, controllers=product_controllers()
    )
    simulation.apply([parent()], lambda _, obj: obj)

    def done() -> bool:
        run = simulation.store.find("cre.nvidia.com/v1alpha1", "WorkloadRun", NAMESPACE, "run")
        return run is not None and run.obj.get("status", {}).get("phase") == "Done"

    report = simulation.run(48 * 3600, done)
    assert report.stopped == "done", report.stopped
    return Measured(
        jobs=jobs,
        iterations=iterations,
        cpu_seconds=time.process_time() - before,
        virtual_seconds=report.virtual_seconds,
        hook_calls=sum(item.calls for item in report.hooks),
        request_bytes=sum(item.request_bytes for item in report.hooks),
        writes=sum(item.requests for item in report.writes),
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


if __name__ == "__main__":
    for count in map(int, sys.argv[1:] or ("250", "2500")):
        print(measure(count, 3))
