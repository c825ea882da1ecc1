"""Plans a run outside a cluster's hooks, by the same code: for `render` and for `run --dry-run`. Creates nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from cli.connection import Cluster
from cli.errors import CliError
from cli.exits import DONE, FAILED
from cli.inputs import RunInput
from cli.output import print_json, print_line
from cli.plan_view import plan_view
from cli.reading import of_cluster, of_nodes, with_profiles
from cli.reporting.plan import document, lines
from cli.simulator.entry import Object
from sync_hooks.api.observed import Node
from sync_hooks.api.sync import GetObject, ListNodes, ListObjects, Observed, Read, Reads, Unreadable
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.execution.log_profiles import PROFILE_UNREADABLE
from sync_hooks.execution.planning_step import build_served
from sync_hooks.execution.preflight import look_ahead, with_warnings
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable
from webhook.answering import Reader

UNKNOWN = {
    "Namespace": "whether PodSecurity refuses the pods",
    "ResourceQuota": "whether a quota is too small",
    "Workflow": "which nodes other runs use",
    "ConfigMap": "which nodes another run uses",
}
"""What is not known where a kind cannot be read."""


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
    return _plan(given, of_nodes(nodes))


def plan_in(cluster: Cluster, given: RunInput) -> Plan | Unplannable:
    """Plan a run on a cluster's nodes, with the device APIs, namespace and LogProfiles that it has. Raises CliError."""
    return _plan(given, of_cluster(cluster))


def _plan(given: RunInput, read: Reader) -> Plan | Unplannable:
    """Plan as the cluster's hooks will, and look ahead as they do.

    What cannot be read here is a warning: the hooks have rights of their own.
    """
    read = with_profiles(given.others, read)
    identity, spec = RunIdentity(given.name, given.namespace), WorkloadRunSpec.model_validate(given.run["spec"])
    nodes, observed = read(ListNodes(max_age=0)), dict[Read, Any]()
    plan = _answered(lambda found: build_served(identity, spec, nodes, found), observed, read)
    if isinstance(plan, Unplannable):
        return plan
    seen = _answered(lambda found: look_ahead(plan, given.namespace, found), observed, read)
    if isinstance(seen, Plan):
        return _warned(seen, _unknown(observed))
    if seen.reason == PROFILE_UNREADABLE:
        return _warned(with_warnings(plan, given.namespace, observed), [*_unknown(observed), seen.message])
    return seen


Answer = Plan | Unplannable | Unreadable | Reads


def _answered(ask: Callable[[Observed], Answer], observed: dict[Read, Any], read: Reader) -> Plan | Unplannable:
    """Ask a part of the hooks, read what it wants, and ask again. Raises CliError."""
    while isinstance(answer := ask(observed), Reads):
        observed.update({wanted: read(wanted) for wanted in answer.reads})
    if isinstance(answer, Unreadable):
        raise CliError(answer.reason)
    return answer


def _unknown(observed: Observed) -> list[str]:
    """Say what nothing is known of because it cannot be read, each thing once."""
    told = (
        f"it is not known {UNKNOWN[wanted.kind]}: {found.reason}"
        for wanted, found in observed.items()
        if isinstance(found, Unreadable) and isinstance(wanted, GetObject | ListObjects)
    )
    return list(dict.fromkeys(told))


def _warned(plan: Plan, warnings: Sequence[str]) -> Plan:
    return msgspec.structs.replace(plan, warnings=(*plan.warnings, *warnings))


def nodes_of(inventory: Sequence[Object]) -> list[Node]:
    """Read Node objects as planning sees them. Raises CliError."""
    try:
        return [msgspec.convert(node, Node) for node in inventory]
    except msgspec.ValidationError as error:
        raise CliError(f"the nodes cannot be read: {error}") from error
