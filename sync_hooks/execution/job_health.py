"""Node health while a workload runs: the Job's CEL expression over its pods' nodes, from the shared node snapshot.

A node that fails is blamed by name and ends the Job: waiting for the workload to notice would only take longer. A
cordon is not a failure: whoever cordons wants the node left alone, and the workload may still end well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

import msgspec

from sync_hooks.api.conditions import HARDWARE_FAILED, find, set_condition
from sync_hooks.api.errors import cut
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.model import LONGEST_MESSAGE
from sync_hooks.api.observed import Node, Pod
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import ListNodes, Observed, Reads, Unreadable
from sync_hooks.api.time import parse_rfc3339
from sync_hooks.execution.gone import live_nodes
from sync_hooks.execution.phase import is_live
from sync_hooks.execution.snapshot import pick

HARDWARE_FAILURE = "HardwareFailureDetected"
SUSPECTED = "NodeSuspected"
AGAIN_SECONDS = 30  # until a node that seemed to fail is looked at again
NODE_FAILED = "the node failed while the workload ran on it"


def failed_nodes(expression: str, nodes: Iterable[Node | None]) -> tuple[str, ...] | str:
    """Return the names of nodes for which the expression is true, sorted; text says why it cannot be evaluated."""
    program = _program(expression)
    if isinstance(program, str):
        return program
    failed = []
    for node in filter(None, nodes):
        outcome = _outcome(program, facts(node))
        if isinstance(outcome, str):
            return f"node {node.name}: {outcome}"
        if outcome:
            failed.append(node.name)
    return tuple(sorted(failed))


def hardware_failed(status: JobStatus, broken: Sequence[FailedNode], now: datetime) -> JobStatus:
    """Say that nodes failed under the workload, and which: they are to blame, although they may come back."""
    text = f"nodes failed while the workload ran on them: {', '.join(node.name for node in broken)}"
    conditions = set_condition(status.conditions or (), HARDWARE_FAILED, "True", HARDWARE_FAILURE, text, now)
    return status.model_copy(update={"conditions": list(conditions), "failed_nodes": list(broken)})


def watch_nodes(
    spec: JobSpec, status: JobStatus, pods: Sequence[Pod], observed: Observed, now: datetime
) -> JobStatus | Reads:
    """Add nodes for which the Job's expression is true, in the shared snapshot and when read live, at two looks.

    A kubelet that starts anew is NotReady for a moment, and so are all where their control plane has one of its own. An
    expression that cannot be evaluated is said, not ignored.
    """
    nodes = observed[ListNodes()]
    if spec.node_health_monitor is None or isinstance(nodes, Unreadable):
        return status
    expression = spec.node_health_monitor.cel.expression
    names = frozenset(pod.spec.node_name for pod in pods if pod.spec.node_name and is_live(pod))
    found = failed_nodes(expression, pick(nodes, names).values())
    if not isinstance(found, str):
        live = live_nodes(found, observed)
        if isinstance(live, Reads):
            return live
        found = failed_nodes(expression, live.values())
    if isinstance(found, str):
        return _told(status, "Unknown", "InvalidExpression", found, now)
    if not found:
        return _told(status, "False", "NodesHealthy", "no node fails any more", now) if is_suspected(status) else status
    suspects = cut(f"seen to fail once, and looked at again before it counts: {', '.join(found)}", LONGEST_MESSAGE)
    known = find(status.conditions or (), HARDWARE_FAILED)
    since = parse_rfc3339(known.last_transition_time or "") if known and known.message == suspects else None
    if since is None or since > now:
        others = [item for item in status.conditions or () if item.type != HARDWARE_FAILED]
        fresh = status.model_copy(update={"conditions": others})
        return _told(fresh, "Unknown", SUSPECTED, suspects, now)
    if (now - since).total_seconds() < AGAIN_SECONDS:
        return status
    blamed = [FailedNode(name=name, reason=HARDWARE_FAILURE, message=NODE_FAILED) for name in found]
    return status.model_copy(update={"failed_nodes": blamed})


def is_suspected(status: JobStatus) -> bool:
    """Tell whether a node seemed to fail at the last look."""
    known = find(status.conditions or (), HARDWARE_FAILED)
    return known is not None and known.reason == SUSPECTED


def _told(status: JobStatus, value: str, reason: str, message: str, now: datetime) -> JobStatus:
    conditions = set_condition(status.conditions or (), HARDWARE_FAILED, value, reason, message, now)
    return status.model_copy(update={"conditions": list(conditions)})


def facts(node: Node) -> Mapping[str, Any]:
    """Return what an expression sees as ``node``: keys that are often absent are there, empty."""
    annotations = node.metadata.annotations or {}
    metadata: dict[str, Any] = {"name": node.name, "labels": node.labels, "annotations": annotations}
    spec = {"unschedulable": node.spec.unschedulable, "taints": [_full(taint) for taint in node.spec.taints]}
    status = {
        "conditions": [_full(condition) for condition in node.status.conditions],
        "allocatable": node.status.allocatable,
        "capacity": node.status.capacity,
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def _full(struct: msgspec.Struct) -> dict[str, Any]:
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {key: getattr(struct, name) or "" for name, key in names}


@lru_cache(maxsize=64)
def _program(expression: str) -> Any:
    try:
        return _environment().compile(expression)
    except (RuntimeError, ValueError, TypeError) as error:
        return f"the node health expression does not compile: {str(error).splitlines()[0]}"


def _outcome(program: Any, node: Mapping[str, Any]) -> bool | str:
    try:
        result = program.eval(data={"node": node})
        value, kind = result.value(), result.type().name()
    except (RuntimeError, ValueError, TypeError) as error:
        return f"the node health expression cannot be evaluated: {str(error).splitlines()[0]}"
    if kind == "ERROR":  # a missing key is a value of this kind, and no exception
        return f"the node health expression cannot be evaluated: {str(value).splitlines()[0]}"
    return value if isinstance(value, bool) else "the node health expression gives neither true nor false"


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # heavy, and only Jobs under way need it

    return cel.NewEnv(variables={"node": cel.Type.DYN})
