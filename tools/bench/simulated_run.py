"""A whole simulated run in a process of its own: CPU, peak memory, and what a Workflow's sync costs on the way.

``python -m tools.bench.simulated_run GROUPS ITERATIONS`` prints one JSON document. Groups have two nodes, every
fiftieth fails. The driver coalesces events as Metacontroller's queue does; the hooks are the product's own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import process_time

import msgspec

from cli.hooking import admission
from cli.inputs import shipped_profiles
from cli.simulator.entry import Object
from cli.simulator.inventory import make
from cli.simulator.report import Report
from cli.simulator.scenario import Rule, Scenario
from cli.simulator.simulation import Simulation

from .apart import in_own_process
from .memory import peak_mib
from .rounds import Rounds
from .timed_hooks import PRODUCT, REFERENCE, TimedHooks

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE, NAME, VERSION = "default", "run", "cre.nvidia.com/v1alpha1"
GROUP_SIZE = 2
FAILS_EVERY = 50  # groups: 2 %
MOST_VIRTUAL_SECONDS = 48 * 3600.0
WORKFLOW = f"Workflow.{VERSION}"


@dataclass(frozen=True, slots=True)
class Stage:
    """A Workflow's sync at one stage of the run."""

    milliseconds: float
    """CPU of one sync, the median of some."""
    reference: float
    """CPU of reading the request as JSON and nothing else, in milliseconds."""
    ratio: float


@dataclass(frozen=True, slots=True)
class Run:
    """What one run cost."""

    jobs: int
    """Of all iterations."""
    cpu_seconds: float
    """From making the nodes to the verdict."""
    peak_mib: float
    hook_calls: int
    request_bytes: int
    status_bytes: int
    """Size of the Workflow each time its status was written, added up."""
    stages: dict[str, Stage]
    longest_sync: float
    """CPU of the longest of all syncs of the Workflow, in milliseconds; a search for cyclic garbage may be in it."""

    @property
    def milliseconds_a_job(self) -> float:
        """CPU by Job."""
        return 1e3 * self.cpu_seconds / self.jobs


def measure(groups: int, iterations: int) -> Run:
    """Run it in a process of its own. Raises RuntimeError where that fails."""
    return in_own_process(__name__, (groups, iterations), Run)


def run(groups: int, iterations: int) -> Run:
    """Run it in this process. Raises RuntimeError where the run never ends."""
    started, timed = process_time(), TimedHooks()
    failing = Rule(outcome="Failed", after=30.0, nodes=frozenset(_failing(groups)))
    scenario = Scenario((failing, Rule(after=60.0)))
    simulation = Simulation(make(f"aws/h100x{groups * GROUP_SIZE}"), scenario, timed.factory, START)
    simulation.apply([*shipped_profiles(), _manifest(iterations)], admission)
    report = simulation.run(MOST_VIRTUAL_SECONDS, lambda: _has_verdict(simulation))
    if report.stopped != "done":
        raise RuntimeError(f"the run did not end: {report.stopped}")
    return Run(
        jobs=groups * iterations,
        cpu_seconds=process_time() - started - timed.overhead,
        peak_mib=peak_mib(),
        hook_calls=sum(item.calls for item in report.hooks),
        request_bytes=sum(item.request_bytes for item in report.hooks),
        status_bytes=_status_bytes(report),
        stages={name: _stage(rounds) for name, rounds in timed.stages.items()},
        longest_sync=1e3 * timed.longest,
    )


def _failing(groups: int) -> list[str]:
    nodes = make(f"aws/h100x{groups * GROUP_SIZE}")
    return [node["metadata"]["name"] for node in nodes[:: GROUP_SIZE * FAILS_EVERY]]


def _manifest(iterations: int) -> Object:
    return {
        "apiVersion": VERSION,
        "kind": "WorkloadRun",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "image": "registry.example/image:1",
            "numNodes": GROUP_SIZE,
            "framework": {"exec": {"command": ["true"]}},
            "gangScheduler": {"schedulerName": "kai-scheduler"},
            "orchestration": {"repeatCount": iterations},
        },
    }


def _has_verdict(simulation: Simulation) -> bool:
    found = simulation.store.find(VERSION, "WorkloadRun", NAMESPACE, NAME)
    return found is not None and "verdict" in (found.obj.get("status") or {})


def _status_bytes(report: Report) -> int:
    return sum(item.bytes for item in report.writes if (item.verb, item.kind) == ("update_status", WORKFLOW))


def _stage(rounds: Rounds) -> Stage:
    return Stage(1e3 * rounds.median(PRODUCT), 1e3 * rounds.median(REFERENCE), rounds.ratio(PRODUCT, REFERENCE))


def main(arguments: Sequence[str]) -> None:
    """Run as told and print what it cost."""
    groups, iterations = map(int, arguments)
    print(msgspec.json.encode(run(groups, iterations)).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
