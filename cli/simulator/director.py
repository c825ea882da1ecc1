"""Plays the scenario: what a workload does once all its pods run, what it prints, and what keeps it from running.

Which pod fails: the one with the lowest index on a node that the rule names. Without named nodes it is the first
worker, or under MPI the launcher alone, as where mpirun cannot say whose fault it was. Under MPI a worker that fails or
is evicted takes the launcher with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from cli.simulator import samples
from cli.simulator.batch import phase
from cli.simulator.clock import Clock
from cli.simulator.entry import Change, Entry, Object
from cli.simulator.errors import ApiError
from cli.simulator.jobset import LABEL_REPLICATED_JOB, LABEL_UID, success_targets
from cli.simulator.kinds import CORE, TRAINER
from cli.simulator.kubelet import Kubelets
from cli.simulator.logs import Output
from cli.simulator.samples import Workload
from cli.simulator.scenario import RUN_SECONDS, Rule, Scenario
from cli.simulator.scheduler import Scheduler
from cli.simulator.store import Store
from cli.simulator.workloads import (
    attempt_of,
    group_nodes,
    iteration_of,
    job_of,
    job_set_of,
    pod_count,
    pods_of,
    train_job_of,
)
from sync_hooks.api.names import GPU
from sync_hooks.api.quantity import whole_units
from sync_hooks.api.time import parse_rfc3339

QUEUE_ACTOR = "queue"
HELD_MESSAGE = "0/0 nodes are available: declared unschedulable by the scenario."
EFA = "vpc.amazonaws.com/efa"
BREAKS_OFF = ("Failed", "Evicted", "Hang")


@dataclass(frozen=True, slots=True)
class Run:
    """One JobSet whose pods all run; what it prints is made when somebody reads."""

    rule: Rule
    start: datetime
    seconds: float
    """From the start to the outcome."""
    workload: Workload
    table: bool
    """Whether a bandwidth table is printed, else training steps: one program prints one of the two."""
    victim: str = ""
    """UID of the pod that fails or is evicted."""
    last_words: dict[str, str] = field(default_factory=dict)
    """What a pod says when it ends, by UID."""
    end: datetime | None = None

    def lines(self) -> Sequence[str]:
        """Return everything that the measured pod would print if nothing stopped it."""
        if self.rule.log is not None:
            return self.rule.log
        if self.table:
            return samples.nccl_table(self.workload)
        return samples.training_steps(self.workload, self.start, self.seconds)

    def output(self, pod: str) -> Output:
        """Return what a pod does print: a sample stops half-way where the workload breaks off."""
        lines, seconds = self.lines(), self.seconds
        if self.rule.log is not None or self.rule.outcome not in BREAKS_OFF:
            return Output(lines, self.start, seconds, self.end)
        return Output(lines[: len(lines) // 2], self.start, seconds / 2, self.end, self.last_words.get(pod))


class Director:
    """Knows every workload's rule. It is asked by the scheduler and by log readers, and tells the kubelets."""

    def __init__(self, store: Store, clock: Clock, scenario: Scenario) -> None:
        self._store = store
        self._clock = clock
        self._scenario = scenario
        self.applied: set[int] = set()
        """Places of the scenario's rules that any workload has met."""
        self._rules: dict[str, Rule] = {}
        self._runs: dict[str, Run] = {}
        self._held: dict[str, float] = {}
        self._started: Counter[str] = Counter()
        self.scheduler = Scheduler(store, clock, self._holds)
        self.kubelets = Kubelets(store, clock, self._on_started)
        store.admit(TRAINER, "TrainJob", self._admit)
        store.watch(self._on_change, "JobSet")

    def _on_change(self, change: Change) -> None:
        job_set = change.entry
        if change.type == "DELETED" or job_set.obj["spec"].get("suspend"):
            self._runs.pop(job_set.uid, None)
            self._started.pop(job_set.uid, None)
        if change.type == "DELETED":
            self._rules.pop(job_set.uid, None)
            self._held.pop(job_set.uid, None)

    # Before it runs

    def _admit(self, operation: Literal["CREATE", "UPDATE"], obj: Object, old: Entry | None) -> Object:
        """Suspend what the scenario wants suspended, as a queue's webhook does."""
        if operation == "UPDATE" or old is not None:
            return obj
        rule = self._rule(obj)
        if rule.outcome != "Suspended":
            return obj
        if rule.after is not None:
            key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            self._clock.schedule(rule.after, lambda: self._resume(key))
        return {**obj, "spec": {**obj["spec"], "suspend": True}}

    def _resume(self, key: tuple[str, str]) -> None:
        entry = self._store.find(TRAINER, "TrainJob", *key)
        if entry is None:
            return
        try:
            self._store.update({**entry.obj, "spec": {**entry.obj["spec"], "suspend": False}}, actor=QUEUE_ACTOR)
        except ApiError:  # refused, as while its runtime is away: the queue tries again
            self._clock.schedule(RUN_SECONDS, lambda: self._resume(key))

    def _holds(self, pod: Entry) -> str | None:
        job_set = job_set_of(self._store, pod)
        rule = Rule() if job_set is None else self._rule_of(job_set)
        if job_set is None or rule.outcome != "Unschedulable":
            return None
        now = self._clock.time
        if job_set.uid not in self._held:
            self._held[job_set.uid] = now
            if rule.after is not None:
                self._clock.schedule(rule.after, self.scheduler.retry)
        waited = now - self._held[job_set.uid]
        return HELD_MESSAGE if rule.after is None or waited < rule.after else None

    # While it runs

    def _on_started(self, pod: Entry) -> None:
        job_set = job_set_of(self._store, pod)
        if job_set is None or job_set.uid in self._runs:
            return
        self._started[job_set.uid] += 1
        if self._started[job_set.uid] < pod_count(job_set.obj):
            return  # counted first: with thousands of pods, looking at all of them for each would be the square
        pods = pods_of(self._store, job_set)
        if sum(1 for item in pods if phase(item) == "Running") < pod_count(job_set.obj):
            return
        rule = self._rule_of(job_set)
        delayed = rule.outcome in ("Unschedulable", "Suspended")  # its time has passed already
        seconds = RUN_SECONDS if delayed or rule.after is None else rule.after
        run = self._runs[job_set.uid] = self._run(job_set, pods, rule, seconds)
        if rule.outcome != "Hang":
            self._clock.schedule(seconds, lambda: self._finish(job_set, run))

    def _run(self, job_set: Entry, pods: Sequence[Entry], rule: Rule, seconds: float) -> Run:
        train_job = train_job_of(self._store, job_set)
        job = None if train_job is None else job_of(self._store, train_job.obj)
        spec = {} if job is None else job.obj["spec"]
        bandwidth = spec.get("bandwidthMeasurement")
        nodes = tuple(sorted({pod.obj["spec"]["nodeName"] for pod in pods}))
        allocatable = (self._store.get(CORE, "Node", "", nodes[0]).obj.get("status") or {}).get("allocatable") or {}
        workload = Workload(
            test=(bandwidth or {}).get("testType", "all_reduce"),
            ranks=spec.get("ranks") or len(nodes) * max(1, whole_units(allocatable.get(GPU))),
            nodes=nodes,
            network="Libfabric" if EFA in allocatable else "IB",
        )
        run = Run(rule, self._clock.now(), seconds, workload, bandwidth is not None)
        return _with_victim(run, pods, success_targets(job_set.obj))

    def _finish(self, job_set: Entry, run: Run) -> None:
        if self._runs.get(job_set.uid) is not run:
            return  # deleted or suspended in between
        self._runs[job_set.uid] = replace(run, end=self._clock.now())
        pods, targets = pods_of(self._store, job_set), success_targets(job_set.obj)
        deciding = [pod for pod in pods if pod.labels[LABEL_REPLICATED_JOB] in targets]
        if run.rule.outcome not in ("Failed", "Evicted"):
            for pod in deciding:
                self.kubelets.exit(pod, 0)
            return
        launchers = deciding if len(deciding) < len(pods) else []
        for pod in pods:
            if pod.uid == run.victim and run.rule.outcome == "Evicted":
                self.kubelets.evict(pod)
            elif pod.uid == run.victim or pod in launchers:
                self.kubelets.exit(pod, run.rule.exit_code)

    def output(self, pod: Entry, container: str) -> Output | None:
        """Return what a container prints, None while its pod has not started."""
        started = parse_rfc3339((pod.obj.get("status") or {}).get("startTime", ""))
        if started is None:
            return None
        job_set = job_set_of(self._store, pod)
        run = self._runs.get(pod.labels.get(LABEL_UID, ""))
        if job_set is not None and pod.labels[LABEL_REPLICATED_JOB] not in success_targets(job_set.obj):
            return Output(samples.SERVER_LINES, started, 0.0)
        names = [item["name"] for item in pod.obj["spec"].get("containers") or ()]
        return Output((), started, 0.0) if run is None or container not in names else run.output(pod.uid)

    def _rule_of(self, job_set: Entry) -> Rule:
        rule = self._rules.get(job_set.uid)
        if rule is None:
            train_job = train_job_of(self._store, job_set)
            rule = self._rules[job_set.uid] = Rule() if train_job is None else self._rule(train_job.obj)
        return rule

    def _rule(self, train_job: Object) -> Rule:
        if not self._scenario.rules:
            return Rule()
        job = job_of(self._store, train_job)
        nodes = group_nodes(self._store, train_job, job)
        number = self._scenario.number(nodes, iteration_of(train_job, job), attempt_of(train_job))
        if number is None:
            return Rule()
        self.applied.add(number)
        return self._scenario.rules[number]


def _with_victim(run: Run, pods: Sequence[Entry], targets: frozenset[str]) -> Run:
    """Choose who fails, and what the measured pod says of it at the end."""
    if run.rule.outcome not in ("Failed", "Evicted"):
        return run
    deciding = [pod for pod in pods if pod.labels[LABEL_REPLICATED_JOB] in targets]
    workers = [pod for pod in pods if pod not in deciding] or deciding
    launchers = [pod for pod in deciding if pod not in workers]
    if not run.rule.nodes and launchers and run.rule.outcome == "Failed":
        return replace(run, victim=launchers[0].uid, last_words={launchers[0].uid: samples.UNATTRIBUTED})
    named = (pod for pod in workers if pod.obj["spec"].get("nodeName") in run.rule.nodes)
    victim = next(named, workers[0])
    if not launchers:
        return replace(run, victim=victim.uid, last_words={victim.uid: samples.FAILED % run.rule.exit_code})
    lost = samples.LOST_HOST % victim.obj["spec"]["hostname"]
    return replace(run, victim=victim.uid, last_words={pod.uid: lost for pod in launchers})
