"""A CompositeController under test: hooks that make ConfigMaps, and what a driver did with them."""

from __future__ import annotations

from typing import Any

from cli.simulator.entry import Entry, Object
from cli.simulator.kinds import CORE, CRE
from cli.simulator.simulation import Simulation
from tests.cli.simulator.cluster import Hooks, config_map, controller, parent, simulation, stub

CONFIG_MAPS = ((CORE, "configmaps"),)
KEY = "ConfigMap.v1"
LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration"
RUNS = (CRE, "workloadruns")


def maker(*names: str, status: Object | None = None, **answer: Any) -> Hooks:
    """Make ConfigMaps of these names, answered as stubs once they are there."""

    def hook(request: Object) -> Object:
        known = {child["metadata"]["name"] for child in request["children"].get(KEY, {}).values()}
        children = [stub(config_map(name)) if name in known else config_map(name, {"a": "1"}) for name in names]
        return {"status": status or {}, "children": children, **answer}

    return Hooks({"c": hook})


def started(hooks: Hooks, *, obj: Object | None = None, run: float = 60, **options: Any) -> Simulation:
    made = options.pop("definition", None) or controller("c", RUNS, CONFIG_MAPS)
    cluster = simulation(hooks, [made], **options)
    cluster.store.create(obj or parent())
    cluster.run(run)
    return cluster


def config_maps(cluster: Simulation) -> dict[str, Entry]:
    return {entry.name: entry for entry in cluster.store.select(CORE, "ConfigMap")}


def run_of(cluster: Simulation) -> Entry:
    return cluster.store.get(CRE, "WorkloadRun", "default", "run")


def sync_errors(cluster: Simulation) -> list[str]:
    events = cluster.store.select(CORE, "Event")
    return [entry.obj["message"] for entry in events if entry.obj["reason"] == "SyncError"]


def writes(cluster: Simulation, verb: str, kind: str) -> int:
    return cluster.store.tally.total(actor="metacontroller", verb=verb, kind=kind)


RUN_KEY = "WorkloadRun.cre.nvidia.com/v1alpha1"
