"""Whole runs in the simulator for property tests: what is run, what happens to it, and what is left in the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cli.hooking import admission
from cli.inputs import shipped_profiles
from cli.simulator.conditions import condition
from cli.simulator.entry import Entry, Object, with_metadata
from cli.simulator.errors import ApiError
from cli.simulator.faults import Faults
from cli.simulator.inventory import make
from cli.simulator.kinds import CORE, CRE, JOBSET, TRAINER
from cli.simulator.protocol import HookCaller, HookResponse
from cli.simulator.scenario import Rule, Scenario
from cli.simulator.simulation import HookContext, Simulation
from webhook.answering import answer
from webhook.events import event_object

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "default"
RUN = "run"
HORIZON = 3 * 3600.0
"""Virtual seconds; every play that can end has ended by then."""
MOST_CALLS = 20_000
"""Of the hooks about one run within the horizon; a play that may last longer has more in proportion."""
FRAMEWORKS: dict[str, Object] = {
    "exec": {"exec": {"command": ["true"]}},
    "torch": {"torch": {"script": "train.py"}},
    "mpi": {"mpi": {"binary": "/opt/all_reduce_perf", "mpirunPath": "/usr/bin/mpirun"}},
}
OURS = ((CRE, "WorkloadRun"), (CRE, "Workflow"), (CRE, "Job"), (TRAINER, "TrainJob"), (JOBSET, "JobSet"),
        (TRAINER, "TrainingRuntime"), (CORE, "ConfigMap"), (CRE, "BandwidthMeasurement"),
        (CRE, "GoodputMeasurement"), (CORE, "PersistentVolumeClaim"), (CORE, "Pod"), ("batch/v1", "Job"))  # fmt: skip
FOREIGN: dict[str, Object] = {
    "ConfigMap": {"data": {"key": "value"}},
    "TrainJob": {"spec": {"runtimeRef": {"name": "other", "kind": "TrainingRuntime"}}},
    "JobSet": {"spec": {"suspend": True, "replicatedJobs": []}},
    "TrainingRuntime": {"spec": {"template": {"spec": {"replicatedJobs": []}}}},
}
BREAKS: dict[str, Object] = {
    "api": {"read_error": 1.0, "write_error": 1.0},
    "logs": {"unreadable": frozenset({"ReadLog"})},
    "pods": {"unreadable": frozenset({"ListPods"})},
    "nodes": {"unreadable": frozenset({"ListNodes"})},
}
"""What may be out of reach for a while, as faults of the simulator."""
PROFILES = shipped_profiles()
OUTAGE_SECONDS = 60.0
API_VERSIONS = {kind: api_version for api_version, kind in OURS if api_version != "batch/v1"}


@cache
def training_log(saved: int, every: int = 10, step_seconds: float = 0.9) -> tuple[str, ...]:
    """Write what a training of 100 steps prints that saves one checkpoint, after step ``saved``.

    Steps that take longer than they say, by a multiple, are a stall.
    """
    lines = ["using world size: 16, data-parallel size: 2, context-parallel size: 1"]
    for step in range(every, 101, every):
        time = f"elapsed time per iteration (ms): {1000 * step_seconds:.1f}"
        figures = f"{time} | throughput per GPU (TFLOP/s/GPU): 600.0 |"
        lines.append(f" iteration {step:>8}/     100 | {figures}")
        if step == saved:
            lines.append(f"  successfully saved checkpoint from iteration {step:>8} to /checkpoint [ t 1/8, p 1/1 ]")
    return tuple(lines)


@dataclass(frozen=True)
class Action:
    """Something that somebody does to the cluster; where there is nothing to do it to, nothing happens."""

    at: float
    """Virtual seconds."""
    verb: str
    """A key of `VERBS`."""
    kind: str = ""
    index: int = 0
    """Which one, in order of names, modulo how many there are."""
    option: str = ""


@dataclass(frozen=True)
class Play:
    """One run and everything that happens to it."""

    inventory: str = "aws/h100x4"
    framework: str = "exec"
    size: int = 2
    iterations: int = 1
    concurrent: int = 0
    retries: int = 0
    timeout: str = "6m"
    bandwidth: bool = False
    goodput: bool = False
    restarts: int | None = None
    """Restarts from a checkpoint; None is a run without one."""
    stall: int | None = None
    threshold: str | None = None
    unpinned: bool = False
    rules: tuple[Rule, ...] = ()
    actions: tuple[Action, ...] = ()
    faults: Faults = field(default_factory=Faults)
    clock_steps: tuple[tuple[float, float], ...] = ()
    """From which virtual second the hooks' clock is off by how many seconds."""
    neighbours: tuple[float, ...] = ()
    """When other runs of the same spec, over the same nodes, are applied."""

    def manifest(self, name: str = RUN) -> Object:
        """Write the WorkloadRun."""
        spec: Object = {"image": "image:1", "numNodes": self.size, "framework": FRAMEWORKS[self.framework]}
        spec["orchestration"] = {
            "repeatCount": self.iterations,
            "maxConcurrent": self.concurrent,
            "timeoutPerJob": self.timeout,
            **({"placement": "Unpinned"} if self.unpinned else {}),
        }
        if self.bandwidth:
            spec["bandwidthMeasurement"] = {"logProfileRef": "nccl-bandwidth"}
        if self.goodput:
            spec["goodputMeasurement"] = {"logProfileRef": "megatron-training"}
        if self.threshold is not None:
            spec["thresholds"] = {"busBandwidthGBps" if self.bandwidth else "goodputRatio": self.threshold}
        if self.restarts is not None:
            spec["checkpoint"] = {"storageSize": "1Gi", "maxRestarts": self.restarts}
        override: Object = {}
        if self.retries:
            override["orchestration"] = {"execution": {"retryFailedGroups": self.retries}}
        if self.stall:
            override["jobTemplate"] = {"spec": {"stallMultiplier": self.stall}}
        if override:
            spec["overrides"] = [override]
        return {
            "apiVersion": CRE, "kind": "WorkloadRun", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec
        }  # fmt: skip


Hear = Callable[["Performance", Object, bytes], None]
"""Is told of every answer of a hook, with its request, before anything is done about it."""


class Performance:
    """A play on a simulated cluster. ``watch`` is told of every change, ``hear`` of every answer."""

    def __init__(
        self, play: Play, watch: Callable[[Performance, Any], None] | None = None, hear: Hear | None = None
    ) -> None:
        self.play = play
        self._hear = hear
        self.requests: list[tuple[str, str, bytes]] = []
        """What the hooks were asked: controller, hook, body."""
        self.foreign: dict[str, Entry] = {}
        """Objects that somebody else made, by UID, as they were made."""
        self.intruding = False
        self.outages: list[tuple[float, str]] = []
        """Until which virtual second what is out of reach."""
        self.simulation = Simulation(make(play.inventory), Scenario(play.rules), self._hooks, START, faults=play.faults)
        self.store, self.clock = self.simulation.store, self.simulation.clock
        if watch is not None:
            self.store.watch(lambda change: watch(self, change))
        self.names = (RUN, *(f"run-{number}" for number in range(2, 2 + len(play.neighbours))))
        """The runs; the first is the one that everything is drawn for."""
        self.uid = ""
        self._manifest = play.manifest()

    def apply_instead(self, manifest: Object) -> None:
        """Apply another manifest than the play's own."""
        self._manifest = manifest

    def run(self, until: float = HORIZON) -> Performance:
        """Perform it; raises HotLoop where the hooks are called more often than a long play can explain."""
        for profile in PROFILES:
            self.store.create(profile)
        for action in self.play.actions:
            self.clock.schedule(action.at, lambda action=action: self._act(action))  # type: ignore[misc]
        self.clock.schedule(0, self._apply)
        for name, at in zip(self.names[1:], self.play.neighbours, strict=True):
            manifest = self.play.manifest(name)
            self.clock.schedule(at, lambda manifest=manifest: self.simulation.apply([manifest], admission))  # type: ignore[misc]
        most_calls = round(MOST_CALLS * len(self.names) * max(1.0, until / HORIZON))
        self.report = self.simulation.run(until, most_calls=most_calls)
        return self

    def _apply(self) -> None:
        self.simulation.apply([self._manifest], admission)
        self.uid = self.store.get(CRE, "WorkloadRun", NAMESPACE, RUN).uid

    def _hooks(self, context: HookContext) -> HookCaller:
        def call(controller: str, hook: str, body: bytes) -> HookResponse:
            now = context.now() + timedelta(seconds=self._off())
            self.requests.append((controller, hook, body))
            answered = answer(controller, hook, body, context.read, now)
            for event in answered.events:
                assert answered.parent is not None
                context.record(event_object(answered.parent, event, now))
            assert answered.status in (200, 429), (controller, answered)
            if self._hear is not None and answered.status == 200:
                self._hear(self, json.loads(body), answered.body)
            return HookResponse(answered.status, answered.body, answered.retry_after)

        return call

    def _off(self) -> float:
        return sum((off for start, off in self.play.clock_steps if self.clock.time >= start), 0.0)

    def _act(self, action: Action) -> None:
        try:
            VERBS[action.verb](self, action)
        except ApiError:
            return

    def objects(self, kind: str) -> list[Entry]:
        """List what there is of a kind in the run's namespace, without what somebody else made."""
        found = self.store.select(API_VERSIONS.get(kind, CORE), kind, None if kind == "Node" else NAMESPACE)
        return [entry for entry in found if entry.uid not in self.foreign]

    @property
    def can_read(self) -> bool:
        """Whether every read of a hook is answered now."""
        faults = self.simulation.dice.faults
        return not faults.read_error and not faults.unreadable

    def find(self, kind: str, name: str) -> Object | None:
        """Find one object of the run's namespace."""
        entry = self.store.find(API_VERSIONS[kind], kind, NAMESPACE, name)
        return None if entry is None else entry.obj

    def status(self, name: str = RUN) -> Object:
        """Return a run's status; empty where it is gone."""
        run = self.find("WorkloadRun", name) or {}
        found: Object = run.get("status") or {}
        return found


def _pick(performance: Performance, action: Action) -> Entry | None:
    found = performance.objects(action.kind)
    return found[action.index % len(found)] if found else None


def _delete(performance: Performance, action: Action) -> None:
    entry = _pick(performance, action)
    if entry is not None:
        performance.store.delete(entry, propagation=action.option or "Background", actor="user")  # type: ignore[arg-type]


def _node(change: Callable[[Object], Object]) -> Callable[[Performance, Action], None]:
    def act(performance: Performance, action: Action) -> None:
        nodes = performance.objects("Node")
        if nodes:
            node = nodes[action.index % len(nodes)]
            changed = change(node.obj)
            performance.store.update(changed, actor="user")
            live = performance.store.get(CORE, "Node", "", node.name)
            performance.store.update_status({**live.obj, "status": changed["status"]}, actor="user")

    return act


def _delete_node(performance: Performance, action: Action) -> None:
    """Delete a node, and its pods, as the node lifecycle controller does."""
    nodes = performance.objects("Node")
    if not nodes:
        return
    node = nodes[action.index % len(nodes)]
    performance.store.delete(node, actor="user")
    for pod in performance.objects("Pod"):
        if pod.obj["spec"].get("nodeName") == node.name:
            performance.store.delete(pod, at_once=True, actor="user")


def _suspend(performance: Performance, action: Action) -> None:
    entry = _pick(performance, Action(action.at, "", "TrainJob", action.index))
    if entry is not None:
        spec = {**entry.obj["spec"], "suspend": action.option == "suspend"}
        performance.store.update({**entry.obj, "spec": spec}, actor="queue")


def _break(performance: Performance, action: Action) -> None:
    """Let something be out of reach for a minute, and for as many more as the index says."""
    seconds = OUTAGE_SECONDS * (1 + action.index)
    performance.outages.append((performance.clock.time + seconds, action.option))

    def set_faults() -> None:
        broken: Object = {}
        for until, option in performance.outages:
            if until > performance.clock.time:
                broken |= {name: value | broken[name] if name in broken and name == "unreadable" else value
                           for name, value in BREAKS[option].items()}  # fmt: skip
        performance.simulation.dice.faults = replace(performance.play.faults, **broken)

    set_faults()
    performance.clock.schedule(seconds, set_faults)


def _fail_pod(performance: Performance, action: Action) -> None:
    """End a running pod: its program by itself, the kubelet for lack of a resource, or somebody who drains its node."""
    running = [pod for pod in performance.objects("Pod") if pod.obj["status"]["phase"] == "Running"]
    if not running:
        return
    pod, kubelets = running[action.index % len(running)], performance.simulation.director.kubelets
    if action.option == "evict":
        kubelets.evict(pod)
    elif action.option == "evict by API":
        _evict(performance, pod)
    else:
        kubelets.exit(pod, 1)


def _evict(performance: Performance, pod: Entry) -> None:
    """Evict a pod as the API does that ``kubectl drain`` calls: it is marked, and deleted with its grace."""
    message = "Eviction API: evicting"
    target = condition("DisruptionTarget", "EvictionByEvictionAPI", message, performance.clock.stamp())
    conditions = [*pod.obj["status"].get("conditions", ()), target]
    status = {**pod.obj["status"], "conditions": conditions}
    marked = performance.store.update_status({**pod.obj, "status": status}, actor="user")
    performance.store.delete(marked, actor="user")


def _intrude(performance: Performance, action: Action) -> None:
    """Make an object of a name that the run will want."""
    api_version = API_VERSIONS[action.kind]
    if performance.store.find(api_version, action.kind, NAMESPACE, action.option) is not None:
        return
    metadata = {"name": action.option, "namespace": NAMESPACE}
    obj: Object = {"apiVersion": api_version, "kind": action.kind, "metadata": metadata}
    performance.intruding = True
    entry = performance.store.seed({**obj, **FOREIGN.get(action.kind, {"spec": {}})})
    performance.intruding = False
    performance.foreign[entry.uid] = entry


def _touch(performance: Performance, action: Action) -> None:
    """Change an object's metadata, as people and other controllers do."""
    entry = _pick(performance, action)
    if entry is not None:
        annotations = {**(entry.metadata.get("annotations") or {}), "touched": str(action.at)}
        performance.store.update(with_metadata(entry.obj, annotations=annotations), actor="user")


def _ready(status: str) -> Callable[[Object], Object]:
    def change(node: Object) -> Object:
        others = [item for item in node["status"]["conditions"] if item["type"] != "Ready"]
        ready = {"type": "Ready", "status": status, "reason": "Test", "message": ""}
        return {**node, "status": {**node["status"], "conditions": [*others, ready]}}

    return change


def _other_host(node: Object) -> Object:
    return with_metadata(node, labels={**node["metadata"]["labels"], "kubernetes.io/hostname": "renamed"})


def _other_product(node: Object) -> Object:
    return with_metadata(node, labels={**node["metadata"]["labels"], "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"})


VERBS: dict[str, Callable[[Performance, Action], None]] = {
    "delete": _delete,
    "cordon": _node(lambda node: {**node, "spec": {**node["spec"], "unschedulable": True}}),
    "uncordon": _node(lambda node: {**node, "spec": {**node["spec"], "unschedulable": False}}),
    "lose node": _node(_ready("Unknown")),
    "find node": _node(_ready("True")),
    "relabel node": _node(_other_host),
    "other GPU": _node(_other_product),
    "delete node": _delete_node,
    "fail pod": _fail_pod,
    "break": _break,
    "suspend": _suspend,
    "intrude": _intrude,
    "touch": _touch,
}
