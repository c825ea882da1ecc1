"""The nodes of a run as people look at them: verdict, why, topology domain and the figure of their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cli.run_objects import RunObjects
from sync_hooks.api.names import JobKey, job_key
from sync_hooks.execution.groups import GroupState
from sync_hooks.execution.result import result_of
from sync_hooks.overrides.rows import rack_key, topology_key
from sync_hooks.planning.orchestration import NVLINK_DOMAIN
from sync_hooks.planning.plan import Plan
from sync_hooks.report.distribution import SMALLER_IS_BETTER
from sync_hooks.report.iteration import IterationResult
from sync_hooks.report.nodes import BlamedNode, NodeVerdicts, node_verdicts

FAILED, INCONCLUSIVE, UNKNOWN, EXCLUDED = "failed", "inconclusive", "unknown", "excluded"
RUNNING, PENDING, SUCCEEDED = "running", "pending", "succeeded"
NODE_ORDER = {FAILED: 0, INCONCLUSIVE: 1, UNKNOWN: 2, EXCLUDED: 3, RUNNING: 4, PENDING: 5, SUCCEEDED: 6}
"""States of nodes, the worst first."""

ZONE = "topology.kubernetes.io/zone"

Grouped = tuple[JobKey, tuple[str, ...], str, Mapping[str, float]]
"""What is known of a group: key, nodes, state, figures."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """One targeted node."""

    name: str
    state: str
    reason: str
    message: str
    domain: str
    """Topology domain; empty where it is not known."""
    groups: tuple[int, ...]
    figures: Mapping[str, float]
    """The worst of its groups' figures."""


def node_views(found: RunObjects, groups: Sequence[Grouped]) -> tuple[tuple[NodeView, ...], str]:
    """Return every targeted node, sorted by name, and the label that their domains are told by."""
    results = [*found.results, *_provisional(found, found.plan)] if found.plan else []
    judged = node_verdicts(found.plan, results) if found.plan else None
    verdicts, complete = _verdicts(found, judged, {result.iteration for result in results})
    excluded = _excluded(found, judged)
    states = _states(groups)
    numbers: dict[str, set[int]] = {}
    figures: dict[str, dict[str, float]] = {}
    for key, nodes, _, measured in groups:
        for node in nodes:
            numbers.setdefault(node, set()).add(key.group)
            known = figures.setdefault(node, {})
            known.update({name: _worse(name, value, known.get(name, value)) for name, value in measured.items()})
    candidates = found.plan.candidates if found.plan else ()
    names = sorted({*excluded, *states, *verdicts, *candidates})
    domains, key_label = domains_of(found, names)
    views, ended = [], bool(found.status.get("verdict"))
    for name in names:
        absent = ((_ABSENT if name in states else _UNTESTED) if complete else _UNREAD) if ended else None
        state, reason, message = _state(name, verdicts, excluded, states, absent)
        in_groups = tuple(sorted(numbers.get(name, ())))
        views.append(NodeView(name, state, reason, message, domains.get(name, ""), in_groups, figures.get(name, {})))
    return tuple(views), key_label


def _worse(figure: str, one: float, other: float) -> float:
    return max(one, other) if figure in SMALLER_IS_BETTER else min(one, other)


Told = tuple[str, str, str]
"""State, reason and message of a node."""

_ABSENT: Told = (INCONCLUSIVE, "", "no verdict of its own: the failure of its group is blamed on others, or on nobody")
_UNTESTED: Told = (INCONCLUSIVE, "", "no verdict of its own: no group ran on it")
_UNREAD: Told = (UNKNOWN, "", "its verdict could not be read")


def _state(
    name: str,
    verdicts: Mapping[str, BlamedNode | None],
    excluded: Mapping[str, str],
    states: Mapping[str, str],
    absent: Told | None,
) -> Told:
    """Tell a node's state; ``absent`` is what it means that an ended run has no verdict on it."""
    if name in excluded:
        return EXCLUDED, "", excluded[name]
    if name in verdicts:
        blame = verdicts[name]
        return (SUCCEEDED, "", "") if blame is None else (FAILED, blame.reason, blame.message)
    if absent is not None or states.get(name) == INCONCLUSIVE:
        return absent or _ABSENT
    return states.get(name, PENDING), "", ""


def _verdicts(
    found: RunObjects, judged: NodeVerdicts | None, iterations: set[int]
) -> tuple[dict[str, BlamedNode | None], bool]:
    """Take the run's own lists; while there are none, or they cannot be read, what the groups that have ended say.

    Also tell whether that is all there is to know; ``iterations`` are those of which anything is known.
    """
    lists = {"succeededNodesRef": found.succeeded, "failedNodesRef": found.failed}
    stored = [nodes for key, nodes in lists.items() if key in found.status]
    if found.plan is None or judged is None or (stored and all(stored)):
        listed = {**dict.fromkeys(found.succeeded), **{node.name: node for node in found.failed}}
        return listed, bool(stored) and all(map(bool, stored))
    complete = iterations >= set(range(1, found.plan.iterations + 1))
    return {**dict.fromkeys(judged.succeeded), **{node.name: node for node in judged.failed}}, complete


def _provisional(found: RunObjects, plan: Plan) -> list[IterationResult]:
    """Results of the groups that have ended, of iterations that have no result yet."""
    known = {result.iteration for result in found.results}
    states: dict[int, dict[int, GroupState]] = {}
    for job in found.jobs:
        key = job_key(job.metadata.name)
        if key is None or key.iteration in known or key.group >= len(plan.groups) or not job.status.settled:
            continue
        newest = states.setdefault(key.iteration, {})
        if key.group not in newest or newest[key.group].retry < key.retry:
            newest[key.group] = GroupState(key.group, key.retry, key.retry, job)
    return [
        result_of(iteration, [states[iteration][one] for one in sorted(states[iteration])])
        for iteration in sorted(states)
    ]


def _excluded(found: RunObjects, judged: NodeVerdicts | None) -> dict[str, str]:
    """Nodes that were left out when the run was planned, and those that went later.

    The status has room for some of them; plan and results, where they could be read, have them all.
    """
    stated = {str(node["name"]): str(node["reason"]) for node in found.status.get("excludedNodes") or ()}
    planned = dict(found.plan.exclusions) if found.plan else {}
    return {**stated, **planned, **{node.name: node.message for node in (judged.excluded if judged else ())}}


def _states(groups: Iterable[Grouped]) -> dict[str, str]:
    """State of nodes without a verdict, by the last of their groups."""
    by_state = {"Pending": PENDING, "Running": RUNNING}
    return {
        node: by_state.get(state, INCONCLUSIVE)
        for _, nodes, state, _ in sorted(groups, key=lambda group: group[0])
        for node in nodes
    }


def domains_of(found: RunObjects, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return the topology domain of nodes and the label it was read from.

    By the nodes' own labels, the first kind that any node has; else by the plan, for groups within one domain.
    """
    platform = str(found.status.get("detectedPlatform", ""))
    preferred = topology_key(platform, str(found.status.get("detectedGPUArchitecture", "")))
    labels = found.labels or {}
    for key in dict.fromkeys(filter(None, (preferred, rack_key(platform), NVLINK_DOMAIN, ZONE))):
        domains = {name: labels[name][key] for name in names if labels.get(name, {}).get(key)}
        if domains:
            return domains, key
    planned = found.plan.groups if found.plan else ()
    return {node: group.domains[0] for group in planned if len(group.domains) == 1 for node in group.nodes}, preferred


def needs_labels(found: RunObjects) -> bool:
    """Tell whether the plan leaves open in which domain each node is."""
    return found.plan is None or any(len(group.domains) != 1 for group in found.plan.groups)
