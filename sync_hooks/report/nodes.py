"""Node verdicts: who passed, who is blamed, who went, who is none of these. No node is in two lists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sync_hooks.api.request import FailedNodeFacts
from sync_hooks.planning.plan import Group, Plan
from sync_hooks.report.fitting import fitting, packed, shortened
from sync_hooks.report.iteration import GroupResult, IterationResult

SUCCEEDED_KEY = "succeeded-nodes.csv.gz"
FAILED_KEY = "failed-nodes.json.gz"
LEVEL = 9  # of gzip: a list is written once a run

DRAINED = "Drained"
NODE_LOST = "NodeLost"
NODE_NOT_READY = "NodeNotReady"
NODE_UNFIT = "NodeUnfit"  # it lost a device, or was tainted: planning would not take it any more
GONE = frozenset({DRAINED, NODE_LOST, NODE_NOT_READY, NODE_UNFIT})
"""Reasons that exclude a node and do not blame it."""


@dataclass(frozen=True, slots=True, order=True)
class BlamedNode:
    """A node and why it is blamed."""

    name: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeVerdicts:
    """Every node that was planned for, in exactly one of the four, each sorted by name."""

    succeeded: tuple[str, ...]
    failed: tuple[BlamedNode, ...]
    inconclusive: tuple[str, ...]
    excluded: tuple[BlamedNode, ...] = ()
    """Nodes that went while the run was under way, by somebody's decision or without having been judged."""


def node_verdicts(plan: Plan, results: Sequence[IterationResult]) -> NodeVerdicts:
    """Judge every node by the last verdict of its own, over iterations in order and groups in order.

    A node that went is excluded, although it may have been good before or after: it has not shown all that was asked of
    it. Only a failure says more. So does one of a try before the last, where no later one judged that very node. A node
    that the scheduler chose and nobody planned for, for it joined later, is listed where it is to blame.
    """
    known = planned_nodes(plan)
    verdicts: dict[str, BlamedNode | None] = {}
    for result in results:
        for outcome in result.groups:
            group = plan.groups[outcome.group]
            for name, blame in (*_before(group, outcome).items(), *_group_verdicts(group, outcome).items()):
                strange = plan.unpinned and blame is not None and not _is_gone(blame)
                if name in known or name in verdicts or strange:
                    verdicts[name] = _stronger(verdicts[name], blame) if name in verdicts else blame
    blamed = sorted(blame for blame in verdicts.values() if blame is not None)
    return NodeVerdicts(
        succeeded=tuple(sorted(name for name, blame in verdicts.items() if blame is None and name in known)),
        failed=tuple(blame for blame in blamed if not _is_gone(blame)),
        inconclusive=tuple(sorted(known - verdicts.keys())),
        excluded=tuple(blame for blame in blamed if _is_gone(blame)),
    )


def planned_nodes(plan: Plan) -> frozenset[str]:
    """Return the nodes that the groups are pinned to, or that the scheduler was to choose among."""
    return frozenset(node for group in plan.groups for node in group.nodes).union(plan.candidates)


def _stronger(old: BlamedNode | None, new: BlamedNode | None) -> BlamedNode | None:
    """Return the later verdict, unless the node went in one of the two."""
    if _is_gone(new):
        return old if old is not None else new
    return old if _is_gone(old) and new is None else new


def _is_gone(blame: BlamedNode | None) -> bool:
    return blame is not None and blame.reason in GONE


def _before(group: Group, outcome: GroupResult) -> dict[str, BlamedNode | None]:
    """Blame by earlier tries: not of nodes, lent ones among them, on which the last try passed."""
    passed = () if outcome.failure or outcome.validation else ran_on(group, outcome)
    return _by_name([node for node in outcome.earlier if node.name not in passed])


def _group_verdicts(group: Group, outcome: GroupResult) -> dict[str, BlamedNode | None]:
    """Verdicts that one group gives: blame by name for anybody, the rest only for nodes at home in it."""
    home = [node for node in ran_on(group, outcome) if node not in group.lent]
    if not outcome.failure and not outcome.validation:
        return dict.fromkeys(home)
    if outcome.attribution == "Node":
        return _by_name(outcome.failed_nodes)
    if outcome.attribution == "Group":
        reason = "WorkloadFailed" if outcome.failure else "ThresholdViolation"
        message = f"not attributed to one node: {outcome.failure or outcome.validation}"
        return {node: BlamedNode(node, reason, message) for node in home}
    return {}


def ran_on(group: Group, outcome: GroupResult) -> tuple[str, ...]:
    """Return the group's nodes that had a worker: all of them where nobody knows where the workers were."""
    seen = frozenset(outcome.nodes)
    return tuple(node for node in group.nodes if node in seen) if group.nodes and seen else group.nodes or outcome.nodes


def _by_name(nodes: Sequence[FailedNodeFacts]) -> dict[str, BlamedNode | None]:
    return {node.name: BlamedNode(node.name, node.reason, node.message) for node in nodes}


def succeeded_payload(names: Sequence[str]) -> str:
    """Write the list of good nodes: base64 of gzip of names joined by commas, nothing else."""
    return packed(",".join(names).encode(), LEVEL)


def failed_payload(nodes: Sequence[BlamedNode]) -> str:
    """Write the list of bad nodes: base64 of gzip of a JSON array of name, reason and message, of all of them."""
    return fitting(lambda most: json.dumps(_rows(nodes, most), separators=(",", ":")).encode(), LEVEL)


def _rows(nodes: Sequence[BlamedNode], most: int) -> list[dict[str, str]]:
    rows = [{"name": node.name, "reason": node.reason, "message": shortened(node.message, most)} for node in nodes]
    return [{key: value for key, value in row.items() if value} for row in rows]
