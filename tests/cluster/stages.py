"""What KWOK's kubelets do with pods, as Stage objects: become ready, run a while, complete, fail, hang, get stuck.

Builds objects only. A pod has one default stage a phase, of weight 0; a stage made by a test has weight and so wins.
Pods of JobSets get no labels of a test's choosing, so tests arrange things by node, or by the labels that pods have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sync_hooks.api.trainer import LABEL_REPLICATED_JOB, LAUNCHER
from tests.cluster.templates import ENDED, LOGS, RUNNING, STUCK

MADE_BY_TEST = "tests.cre.nvidia.com/made-by-test"
"""Label of stages and logs that a test arranged; they go when it ends."""

REPLICATED_JOB = f'.metadata.labels["{LABEL_REPLICATED_JOB}"]'

RUN_SECONDS = 1.0  # long enough for controllers to see a pod running
ARRANGED = 10**18
MORE_PARTICULAR = 10**6
# KWOK draws among matching stages by weight; so far apart, the draw is none: what was arranged for a node comes before
# any log, a log that asks for labels or a node, or both, before one that asks for less


@dataclass(frozen=True, slots=True)
class End:
    """How a container ends, and its pod with it."""

    exit_code: int = 0
    reason: str = "Completed"
    message: str = ""
    pod_reason: str = ""
    pod_message: str = ""


EVICTED = End(137, "Error", "", "Evicted", "The node was low on resource: memory.")


def defaults() -> list[dict[str, Any]]:
    """What happens to every pod for which nothing was arranged."""
    deleted = _match(".metadata.deletionTimestamp", "Exists")
    return [
        _stage("pod-running", _in_phase("Pending"), [_status(RUNNING)]),
        complete(RUN_SECONDS),
        _stage("pod-deleted", [deleted], [{"delete": True}]),
    ]


def complete(seconds: float) -> dict[str, Any]:
    """Pods of Jobs succeed ``seconds`` after they started to run; others run on."""
    of_job = _match(".metadata.ownerReferences.[].kind", "In", "Job")
    return _stage("pod-completed", [*_in_phase("Running"), of_job], [_ended(End())], seconds=seconds)


def end_on(node: str, end: End, seconds: float) -> dict[str, Any]:
    """Pods on a node end in this way, so many seconds after they started to run.

    Launchers run on: the scheduler puts them on any node of a group, and they need nothing of it that could break.
    """
    match = [*_on(node, "Running"), _match(REPLICATED_JOB, "NotIn", LAUNCHER)]
    return _stage(f"running-{node}", match, [_ended(end)], weight=ARRANGED, seconds=seconds)


def hang_on(node: str) -> dict[str, Any]:
    """Pods on a node run for ever."""
    return _stage(f"running-{node}", _on(node, "Running"), [], weight=ARRANGED)


def stick_on(node: str, reason: str, message: str) -> dict[str, Any]:
    """Pods on a node stay Pending for ever, their containers waiting for this reason."""
    template = STUCK % {"reason": json.dumps(reason), "message": json.dumps(message)}
    return _stage(f"pending-{node}", _on(node, "Pending"), [_status(template)], weight=ARRANGED)


def linger_on(node: str, seconds: float) -> dict[str, Any]:
    """Pods on a node take so many seconds to go once they are deleted."""
    match = [_match(".metadata.deletionTimestamp", "Exists"), _match(".spec.nodeName", "In", node)]
    return _stage(f"deleted-{node}", match, [{"delete": True}], weight=ARRANGED, seconds=seconds)


def log_from(path: Path, labels: Mapping[str, str], nodes: Sequence[str], container: str) -> dict[str, Any]:
    """Pods with these labels, on these nodes (each empty: any), get this file as their log before they run."""
    entry = {"logsFile": str(path), **({"containers": [container]} if container else {})}
    match = _in_phase("Pending")
    match += [_match(f'.metadata.labels["{key}"]', "In", value) for key, value in sorted(labels.items())]
    if nodes:
        match.append(_match(".spec.nodeName", "In", *sorted(nodes)))
    steps = [{"apply": {"template": LOGS % {"logs": json.dumps([entry])}}}, _status(RUNNING)]
    return _stage(f"log-{_digest(labels, nodes)}", match, steps, weight=MORE_PARTICULAR ** (bool(labels) + bool(nodes)))


def cluster_logs(name: str, path: Path) -> dict[str, Any]:
    """The log of every pod that got none of its own."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": name},
        "spec": {"logs": [{"logsFile": str(path)}]},
    }


def node_stays(name: str) -> dict[str, Any]:
    """A node keeps the conditions that it has: nothing makes it Ready again."""
    match = [_match(".metadata.name", "In", name)]
    return _stage(f"node-{name}", match, [], weight=ARRANGED, kind="Node")


def _stage(
    name: str,
    match: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    *,
    weight: int = 0,
    seconds: float = 0,
    kind: str = "Pod",
) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name, "labels": {MADE_BY_TEST: str(weight > 0).lower()}},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": list(match)},
            "weight": weight,
            "delay": {"durationMilliseconds": round(seconds * 1000)},
            "steps": list(steps),
        },
    }


def _in_phase(phase: str) -> list[dict[str, Any]]:
    return [_match(".metadata.deletionTimestamp", "DoesNotExist"), _match(".status.phase", "In", phase)]


def _on(node: str, phase: str) -> list[dict[str, Any]]:
    return [*_in_phase(phase), _match(".spec.nodeName", "In", node)]


def _match(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"jq": {"key": key, "operator": operator, **({"values": list(values)} if values else {})}}


def _status(template: str) -> dict[str, Any]:
    return {"patch": {"subresource": "status", "root": "status", "template": template}}


def _ended(end: End) -> dict[str, Any]:
    words = {
        "phase": "Failed" if end.exit_code else "Succeeded",
        "not_ready": "PodFailed" if end.exit_code else "PodCompleted",
        "exit_code": end.exit_code,
        **{key: json.dumps(getattr(end, key)) for key in ("reason", "message", "pod_reason", "pod_message")},
    }
    return _status(ENDED % words)


def _digest(labels: Mapping[str, str], nodes: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([dict(labels), sorted(nodes)], sort_keys=True).encode()).hexdigest()[:12]
