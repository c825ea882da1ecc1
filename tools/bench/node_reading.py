"""Reading and planning a large cluster in a process of its own, as the hooks do it: time and peak memory.

``python -m tools.bench.node_reading PORT`` reads what a server lists there, plans a run on it, and prints JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time

import msgspec

from sync_hooks.api.sync import ListNodes
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, RunIdentity
from tests.support.runs import run_spec
from webhook.apiserver import ApiServer
from webhook.observer import Observer

from . import node_lists, servers
from .apart import in_own_process
from .memory import peak_mib


@dataclass(frozen=True, slots=True)
class Reading:
    """What it cost."""

    seconds: float
    """On the clock, from the first request to the plan."""
    cpu_seconds: float
    """Of this process: the server's share is not in it."""
    peak_mib: float
    before_mib: float
    """Peak before the first request: what code and libraries take."""
    nodes: int


def measure(count: int) -> Reading:
    """Serve so many nodes and read them in a process of its own. Raises RuntimeError where that fails."""
    with node_lists.serving(count) as port:
        return in_own_process(__name__, (port,), Reading)


def read_and_plan(port: int) -> Reading:
    """Read all nodes and plan a run on them in groups of two."""
    with servers.folder() as folder:
        observer = Observer(ApiServer(servers.kubeconfig(folder, port), direct=True))
    before, started, cpu = peak_mib(), perf_counter(), process_time()
    nodes = observer.read(ListNodes(0))
    plan = build(RunIdentity("demo", "default"), run_spec("mpi"), nodes)
    seconds, spent = perf_counter() - started, process_time() - cpu
    if not isinstance(plan, Plan):
        raise TypeError(plan.message)
    return Reading(seconds, spent, peak_mib(), before, sum(len(group.nodes) for group in plan.groups))


def main(arguments: Sequence[str]) -> None:
    """Read from the port that is given and print what it cost."""
    (port,) = arguments
    print(msgspec.json.encode(read_and_plan(int(port))).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
