"""The kubelets: start the pods that have a node, end them when told to, remove them when they are deleted."""

from __future__ import annotations

from collections.abc import Callable

from cli.simulator.batch import TERMINAL, phase
from cli.simulator.clock import Clock
from cli.simulator.conditions import condition
from cli.simulator.entry import Change, Entry, Object
from cli.simulator.errors import NotFound
from cli.simulator.kinds import CORE
from cli.simulator.store import Store

ACTOR = "kubelet"
START_SECONDS = 2.0  # from having a node to running containers, images pulled
STOP_SECONDS = 2.0  # from the request to delete to the end of the containers
EVICTION_MESSAGE = "The node was low on resource: ephemeral-storage."


class Kubelets:
    """One for all nodes; ``started`` is told of each pod whose containers run."""

    def __init__(self, store: Store, clock: Clock, started: Callable[[Entry], None]) -> None:
        self._store = store
        self._clock = clock
        self._started = started
        store.watch(self._on_change, "Pod")

    def _on_change(self, change: Change) -> None:
        pod = change.entry
        if change.type == "DELETED" or not pod.obj["spec"].get("nodeName"):
            return
        before = change.old
        if pod.deleting and (before is None or not before.deleting):
            self._clock.schedule(STOP_SECONDS, lambda: self._remove(pod))
        elif before is not None and not before.obj["spec"].get("nodeName"):
            self._clock.schedule(START_SECONDS, lambda: self._start(pod))

    def _start(self, pod: Entry) -> None:
        live = self._live(pod)
        if live is None or live.deleting or phase(live) != "Pending":
            return
        now = self._clock.stamp()
        status: Object = {
            "phase": "Running",
            "qosClass": "Burstable",
            "startTime": now,
            "conditions": [_pod_condition(name, "True", now) for name in ("PodScheduled", "Ready")],
            "containerStatuses": _statuses(live, "containers", {"running": {"startedAt": now}}, ready=True),
        }
        if live.obj["spec"].get("initContainers"):
            ended = _terminated(0, "Completed", now, now)
            status["initContainerStatuses"] = _statuses(live, "initContainers", ended, ready=True)
        self._started(self._store.update_status({**live.obj, "status": status}, actor=ACTOR))

    def _remove(self, pod: Entry) -> None:
        try:
            self._store.delete(pod, propagation=None, at_once=True, actor=ACTOR)
        except NotFound:
            return

    def exit(self, pod: Entry, exit_code: int) -> None:
        """End a running pod's containers with one exit code; a pod that no longer runs is left alone."""
        live = self._live(pod)
        if live is None or phase(live) in TERMINAL:
            return
        now = self._clock.stamp()
        state = _terminated(exit_code, "Completed" if exit_code == 0 else "Error", _started_at(live), now)
        self._end(live, "Succeeded" if exit_code == 0 else "Failed", state, now, {})

    def evict(self, pod: Entry) -> None:
        """End a running pod for lack of a resource, as node pressure does."""
        live = self._live(pod)
        if live is None or phase(live) in TERMINAL:
            return
        now = self._clock.stamp()
        target = condition("DisruptionTarget", "TerminationByKubelet", EVICTION_MESSAGE, now)
        state = _terminated(137, "Error", _started_at(live), now)
        extra = {"reason": "Evicted", "message": EVICTION_MESSAGE, "conditions": [target]}
        self._end(live, "Failed", state, now, extra)

    def _end(self, pod: Entry, new_phase: str, state: Object, now: str, extra: Object) -> None:
        conditions = [*extra.pop("conditions", ()), _pod_condition("PodScheduled", "True", now)]
        conditions.append({**_pod_condition("Ready", "False", now), "reason": "PodCompleted"})
        status = {
            **pod.obj["status"],
            **extra,
            "phase": new_phase,
            "conditions": conditions,
            "containerStatuses": _statuses(pod, "containers", state, ready=False),
        }
        self._store.update_status({**pod.obj, "status": status}, actor=ACTOR)

    def _live(self, pod: Entry) -> Entry | None:
        live = self._store.find(CORE, "Pod", *pod.key)
        return live if live is not None and live.uid == pod.uid else None


def _statuses(pod: Entry, field: str, state: Object, *, ready: bool) -> list[Object]:
    return [
        {
            "name": container["name"],
            "ready": ready,
            "restartCount": 0,
            "image": container.get("image", ""),
            "state": state,
        }
        for container in pod.obj["spec"].get(field) or ()
    ]


def _terminated(exit_code: int, reason: str, started: str, finished: str) -> Object:
    return {"terminated": {"exitCode": exit_code, "reason": reason, "startedAt": started, "finishedAt": finished}}


def _started_at(pod: Entry) -> str:
    return str((pod.obj.get("status") or {}).get("startTime", ""))


def _pod_condition(type_: str, status: str, now: str) -> Object:
    return {"type": type_, "status": status, "lastTransitionTime": now}
