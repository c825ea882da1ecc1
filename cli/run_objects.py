"""The objects of one run, decoded to what people are shown of them. Gathers, judges nothing.

A simulated run's objects lie in memory, a real one's are read by `cli.gathering`; both end here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from cli.run_facts import BandwidthObject, GoodputObject, JobObject, WorkflowObject
from cli.run_status import status_of
from sync_hooks.api.names import LABEL_WORKLOAD_RUN, iteration_name, plan_name
from sync_hooks.api.observed import Facts
from sync_hooks.api.packed import unpack, unpack_as
from sync_hooks.api.request import ConfigMapChild, FailedNodeFacts
from sync_hooks.planning.plan import PLAN_KEY, Plan, decode
from sync_hooks.report.iteration import IterationResult, read_result
from sync_hooks.report.nodes import FAILED_KEY, SUCCEEDED_KEY, BlamedNode

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunObjects:
    """Everything that is known of a run. What could not be read is absent, and ``notes`` say so."""

    run: Object
    workflow: WorkflowObject | None = None
    plan: Plan | None = None
    results: tuple[IterationResult, ...] = ()
    """Of finished iterations, in order."""
    jobs: tuple[JobObject, ...] = ()
    bandwidth: tuple[BandwidthObject, ...] = ()
    goodput: tuple[GoodputObject, ...] = ()
    succeeded: tuple[str, ...] = ()
    """Nodes that passed, by the run's own list."""
    failed: tuple[BlamedNode, ...] = ()
    """Nodes that are blamed, by the run's own list."""
    labels: Mapping[str, Mapping[str, str]] | None = None
    """Labels of nodes, by name; None where they could not be read."""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The run's name."""
        return str(self.run["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The run's namespace."""
        return str(self.run["metadata"].get("namespace", "default"))

    @property
    def status(self) -> Mapping[str, Any]:
        """The run's status as far as it is understood."""
        return status_of(self.run)


F = TypeVar("F", bound=Facts)
T = TypeVar("T")


def of_simulation(run: Object, objects: Iterable[Object], nodes: Iterable[Object]) -> RunObjects:
    """Gather a simulated run; objects of other runs are passed over."""
    name, namespace = run["metadata"]["name"], run["metadata"].get("namespace", "default")
    own = [item for item in objects if item["metadata"].get("namespace") == namespace]
    labelled = [item for item in own if (item["metadata"].get("labels") or {}).get(LABEL_WORKLOAD_RUN) == name]
    config_maps = {item["metadata"]["name"]: item for item in own if item["kind"] == "ConfigMap"}
    workflows = _converted(labelled, "Workflow", WorkflowObject)
    found = RunObjects(
        run=run,
        workflow=workflows[0] if workflows else None,
        jobs=_converted(labelled, "Job", JobObject),
        bandwidth=_converted(labelled, "BandwidthMeasurement", BandwidthObject),
        goodput=_converted(labelled, "GoodputMeasurement", GoodputObject),
        labels={node["metadata"]["name"]: node["metadata"].get("labels") or {} for node in nodes},
    )
    return with_config_maps(
        found, {key: msgspec.convert(config_maps[key], ConfigMapChild) for key in wanted(run) if key in config_maps}
    )


def _converted(objects: Iterable[Object], kind: str, type_: type[F]) -> tuple[F, ...]:
    ours = (item for item in objects if item["kind"] == kind and item["apiVersion"].startswith("cre.nvidia.com/"))
    return tuple(msgspec.convert(item, type_) for item in ours)


def wanted(run: Object) -> tuple[str, ...]:
    """Name the ConfigMaps that hold what the status has no room for: plan, results of iterations, lists of nodes."""
    name, status = str(run["metadata"]["name"]), status_of(run)
    lists = [status[key]["name"] for key in ("succeededNodesRef", "failedNodesRef") if key in status]
    return (plan_name(name), *_iterations(run), *lists)


def _iterations(run: Object) -> tuple[str, ...]:
    progress = status_of(run).get("progress") or {}
    return tuple(iteration_name(str(run["metadata"]["name"]), one + 1) for one in range(progress.get("iteration", 0)))


def with_config_maps(found: RunObjects, config_maps: Mapping[str, ConfigMapChild]) -> RunObjects:
    """Add what ConfigMaps hold; one that cannot be understood is left out with a note."""
    notes = list(found.notes)

    def read(name: str, parse: Callable[[ConfigMapChild], T | None]) -> T | None:
        config_map = config_maps.get(name)
        try:
            parsed = None if config_map is None else parse(config_map)
        except ValueError as error:
            notes.append(f"ConfigMap {name} cannot be read: {error}")
            return None
        if config_map is not None and parsed is None:
            notes.append(f"ConfigMap {name} does not hold what it should")
        return parsed

    results = [read(name, read_result) for name in _iterations(found.run)]
    status = found.status
    return replace(
        found,
        plan=read(plan_name(found.name), _plan),
        results=tuple(result for result in results if result is not None),
        succeeded=read((status.get("succeededNodesRef") or {}).get("name", ""), _succeeded) or (),
        failed=read((status.get("failedNodesRef") or {}).get("name", ""), _failed) or (),
        notes=tuple(notes),
    )


def _plan(config_map: ConfigMapChild) -> Plan:
    return decode(base64.b64decode(config_map.binary_data.get(PLAN_KEY, "")))


def _succeeded(config_map: ConfigMapChild) -> tuple[str, ...]:
    return tuple(unpack(_packed(config_map, SUCCEEDED_KEY)).decode().split(","))


def _failed(config_map: ConfigMapChild) -> tuple[BlamedNode, ...]:
    nodes = unpack_as(tuple[FailedNodeFacts, ...], _packed(config_map, FAILED_KEY))
    return tuple(BlamedNode(node.name, node.reason, node.message) for node in nodes)


def _packed(config_map: ConfigMapChild, key: str) -> bytes:
    """Return a list of nodes as it is stored. Raises ValueError."""
    content = base64.b64decode(config_map.binary_data.get(key, ""))
    if not content:
        raise ValueError(f"it has no {key}")
    return content
