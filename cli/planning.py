"""Plans a run outside a cluster's hooks, by the same code: for `render` and for `run --dry-run`. Creates nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from cli.connection import Cluster, Page, understood
from cli.errors import CliError
from cli.exits import DONE, FAILED
from cli.inputs import RunInput
from cli.output import print_json, print_line
from cli.plan_view import plan_view
from cli.reporting.plan import document, lines
from cli.simulator.entry import Object
from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
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


def plan_on(nodes: Sequence[Node], given: RunInput, absent: Iterable[tuple[str, str]] = ()) -> Plan | Unplannable:
    """Plan a run on these nodes; ``absent`` are device APIs that are known to be missing."""
    spec = WorkloadRunSpec.model_validate(given.run["spec"])
    return build(RunIdentity(given.name, given.namespace), spec, nodes, absent)


def plan_in(cluster: Cluster, given: RunInput) -> Plan | Unplannable:
    """Plan a run on a cluster's nodes and with the device APIs that it serves. Raises CliError."""
    nodes = [node for page in cluster.pages("v1", "Node") for node in understood(page, Page[Node]).items or ()]
    planned = plan_on(nodes, given)
    if isinstance(planned, Unplannable):
        return planned
    needed = own_kinds(planned)
    served = {version: cluster.served_kinds(version) for version in sorted({version for version, _ in needed})}
    absent = [(version, kind) for version, kind in needed if kind not in served[version]]
    return plan_on(nodes, given, absent) if absent else planned


def nodes_of(inventory: Sequence[Object]) -> list[Node]:
    """Read Node objects as planning sees them. Raises CliError."""
    try:
        return [msgspec.convert(node, Node) for node in inventory]
    except msgspec.ValidationError as error:
        raise CliError(f"the nodes cannot be read: {error}") from error
