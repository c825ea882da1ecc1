"""Plans a run outside a cluster's hooks, by the same code: for `render` and for `run --dry-run`. Creates nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from cli.connection import Cluster, Page, understood
from cli.errors import CliError
from cli.exits import DONE, FAILED
from cli.inputs import RunInput, shipped_profiles
from cli.output import print_json, print_line
from cli.plan_view import plan_view
from cli.refusals import NotFound
from cli.reporting.plan import document, lines
from cli.simulator.entry import Object
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.observed import LiveObject, Node
from sync_hooks.api.sync import Read, Unreadable
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.execution.log_profiles import PROFILE_UNREADABLE, check_profiles, profile_reads
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable, own_kinds


def show_plan(given: RunInput, source: Cluster | Sequence[Object], output: str) -> int:
    """Print what a run would do on a cluster's nodes or on given ones; returns the exit code."""
    planned = plan_in(source, given) if isinstance(source, Cluster) else plan_on(nodes_of(source), given)
    seen = plan_view(planned)
    if output == "json":
        print_json({"plan": document(seen)})
    else:
        for line in lines(seen):
            print_line(line)
    return FAILED if seen.problem else DONE


def plan_on(nodes: Sequence[Node], given: RunInput) -> Plan | Unplannable:
    """Plan a run on these nodes, with the LogProfiles that come with the product or stand in its file."""
    return _measurable(_build(nodes, given), given, _shipped)


def plan_in(cluster: Cluster, given: RunInput) -> Plan | Unplannable:
    """Plan a run on a cluster's nodes, with the device APIs and the LogProfiles that it has. Raises CliError."""
    nodes = [node for page in cluster.pages("v1", "Node") for node in understood(page, Page[Node]).items or ()]
    planned = _build(nodes, given)
    needed = own_kinds(planned) if isinstance(planned, Plan) else ()
    served = {version: cluster.served_kinds(version) for version in sorted({version for version, _ in needed})}
    absent = [(version, kind) for version, kind in needed if kind not in served[version]]
    planned = _build(nodes, given, absent) if absent else planned
    return _measurable(planned, given, partial(_installed, cluster))


def _build(nodes: Sequence[Node], given: RunInput, absent: Iterable[tuple[str, str]] = ()) -> Plan | Unplannable:
    """Plan a run on these nodes; ``absent`` are device APIs that are known to be missing."""
    spec = WorkloadRunSpec.model_validate(given.run["spec"])
    return build(RunIdentity(given.name, given.namespace), spec, nodes, absent)


Found = LiveObject | Unreadable | None


def _measurable(planned: Plan | Unplannable, given: RunInput, find: Callable[[str], Found]) -> Plan | Unplannable:
    """Hold a plan against the LogProfiles that it names, as the cluster's hooks will.

    Those of the run's own file are created before it. What is not known here is a warning: the cluster may know it.
    """
    if isinstance(planned, Unplannable):
        return planned
    own = {item["metadata"]["name"]: item for item in given.others if item["kind"] == "LogProfile"}
    found: dict[Read, Found] = {
        read: _live(own[read.name]) if read.name in own else find(read.name) for read in profile_reads(planned)
    }
    problem = check_profiles(planned, found)
    if problem is None or problem.reason != PROFILE_UNREADABLE:
        return problem or planned
    return msgspec.structs.replace(planned, warnings=(*planned.warnings, problem.message))


def _shipped(name: str) -> Found:
    found = next((profile for profile in shipped_profiles() if profile["metadata"]["name"] == name), None)
    if found is None:
        return Unreadable("it does not come with the product, so the cluster has to have it; the run waits 5m for it")
    return _live(found)


def _installed(cluster: Cluster, name: str) -> Found:
    try:
        return understood(cluster.get(API_VERSION, "LogProfile", name), LiveObject)
    except NotFound:
        return None
    except CliError as error:
        return Unreadable(str(error))


def _live(profile: Mapping[str, Any]) -> LiveObject:
    try:
        return msgspec.convert(profile, LiveObject)
    except msgspec.ValidationError as error:
        raise CliError(f"LogProfile {profile['metadata']['name']} cannot be read: {error}") from error


def nodes_of(inventory: Sequence[Object]) -> list[Node]:
    """Read Node objects as planning sees them. Raises CliError."""
    try:
        return [msgspec.convert(node, Node) for node in inventory]
    except msgspec.ValidationError as error:
        raise CliError(f"the nodes cannot be read: {error}") from error
