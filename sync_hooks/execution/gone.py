"""Nodes that left while the run was under way: cordoned, not ready, or no longer there. They are excluded, not blamed.

A cordon is somebody's decision. Only for a run that is about cordoned nodes it means nothing. It explains nothing that
had failed before, and nothing where the node's pods were left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sync_hooks.api.job import JobSpec
from sync_hooks.api.observed import LiveObject, Node, NodeSpec, NodeStatus, Pod
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import GetObject, ListNodes, Observed, Reads, Unreadable
from sync_hooks.api.trainer import pod_of
from sync_hooks.cluster.nodes import TAINT_UNSCHEDULABLE
from sync_hooks.execution.blame import disturbed_at, failed_by_itself, failures, is_touched
from sync_hooks.execution.phase import is_going, is_launcher, ran_to_the_end
from sync_hooks.execution.snapshot import pick
from sync_hooks.report.nodes import DRAINED, NODE_LOST, NODE_NOT_READY

MOST_NODE_READS = 64  # one read a node; for larger groups one list of all nodes costs less
SNAPSHOT_SECONDS = 10  # a cordon of a moment ago shall be seen, and groups that fail together share the list

NodeRead = GetObject | ListNodes
Known = Mapping[str, Node | None]
"""Nodes by name; None for one that is not there."""


def node_reads(names: Sequence[str]) -> tuple[NodeRead, ...]:
    """Return the reads that show nodes as they are now: what a running workload is watched with may be too old."""
    if len(names) > MOST_NODE_READS:
        return (ListNodes(max_age=SNAPSHOT_SECONDS),)
    return tuple(GetObject("v1", "Node", name) for name in names)


def nodes_now(names: Sequence[str], observed: Observed) -> Known:
    """Return the nodes by name, as `node_reads` found them; unreadable ones are left out."""
    known: dict[str, Node | None] = {}
    for read in node_reads(names):
        found = observed[read]
        if isinstance(found, Unreadable):
            continue
        if isinstance(read, ListNodes):
            return pick(found, names)
        known[read.name] = found and _node(found)
    return known


def live_nodes(names: Sequence[str], observed: Observed) -> Known | Reads:
    """Read nodes as they are now: in the shared snapshot is what they were up to a minute ago."""
    reads = node_reads(names)
    return nodes_now(names, observed) if all(read in observed for read in reads) else Reads(reads)


def _node(found: LiveObject) -> Node:
    spec = msgspec.convert(found.spec or {}, NodeSpec, strict=False)
    return Node(found.metadata, spec, msgspec.convert(found.status or {}, NodeStatus, strict=False))


def gone_nodes(spec: JobSpec, nodes: Known) -> tuple[FailedNode, ...]:
    """Name the nodes that cannot be used any more, each with the reason, sorted."""
    wants_cordoned = tolerates_cordon(spec)
    found = (_gone(name, node, wants_cordoned=wants_cordoned) for name, node in sorted(nodes.items()))
    return tuple(gone for gone in found if gone is not None)


def _gone(name: str, node: Node | None, *, wants_cordoned: bool) -> FailedNode | None:
    if node is None:
        return FailedNode(name=name, reason=NODE_LOST, message="deleted while the run was under way")
    if node.spec.unschedulable and not wants_cordoned:
        return FailedNode(name=name, reason=DRAINED, message="cordoned while the run was under way")
    if any(condition.type == "Ready" and condition.status != "True" for condition in node.status.conditions):
        return FailedNode(name=name, reason=NODE_NOT_READY, message="NotReady before the workload could start")
    return None


def taken_along(gone: Iterable[FailedNode], pods: Sequence[Pod]) -> tuple[FailedNode, ...]:
    """Of the nodes that went, return those that took the workload along.

    Where a worker on the node failed by itself the node is blamed like any other, whatever was done to it afterwards;
    where another one did before this node's pods were touched, that is the cause. A cordon alone touches no pod.
    """
    return tuple(node for node, took in _judged(gone, pods) if took)


def may_have_taken(gone: Iterable[FailedNode], pods: Sequence[Pod]) -> tuple[FailedNode, ...]:
    """Of the nodes that went, return those of which nobody can tell: something failed, and their pods are not there."""
    return tuple(node for node, took in _judged(gone, pods) if took is None)


def _judged(gone: Iterable[FailedNode], pods: Sequence[Pod]) -> list[tuple[FailedNode, bool | None]]:
    workers = [pod for pod in pods if not is_launcher(pod)]
    failed = {pod.spec.node_name for pod in workers if failed_by_itself(pod)}
    finished = {pod.spec.node_name for pod in workers if ran_to_the_end(pod)}
    went = [node for node in gone if node.reason != NODE_NOT_READY and node.name not in failed | finished]
    first = _first_failure(pods, frozenset(node.name for node in went))
    own = {node.name: [pod for pod in workers if pod.spec.node_name == node.name] for node in went}
    return [(node, _came_first(own[node.name], first)) for node in went]


def _first_failure(pods: Sequence[Pod], went: frozenset[str]) -> str | None:
    """Return when the launcher, or a worker on a node that is still there, first failed by itself; None for never.

    Empty where one did and nobody knows when.
    """
    own = [item for item in failures(pods) if not item.only_killed]
    moments = [item.finished_at for item in own if is_launcher(item.pod) or item.pod.spec.node_name not in went]
    return min(moments, default=None)


def _came_first(own: Sequence[Pod], failed: str | None) -> bool | None:
    """Tell whether a node's pods were taken away or killed before another one ``failed``; None where nobody knows."""
    if failed is None:
        return not own or any(is_touched(pod) or is_going(pod) for pod in own)
    touched = [disturbed_at(pod) for pod in own if is_touched(pod)]
    if own and not touched:
        return False
    return min(touched) <= failed if failed and touched and all(touched) else None


def tolerates_cordon(spec: JobSpec) -> bool:
    """Tell whether the workload's pods are meant for cordoned nodes: the run's target then asks for them by taint."""
    patches = spec.workload.train_job.get("runtimePatches") or ()
    return any(toleration.get("key") == TAINT_UNSCHEDULABLE for patch in patches for toleration in _tolerations(patch))


def _tolerations(patch: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
    jobs = (template.get("spec") or {}).get("replicatedJobs") or ()
    return [toleration for job in jobs for toleration in pod_of(job).get("tolerations") or ()]
