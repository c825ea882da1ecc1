"""The Job controller of batch/v1: one pod an index; the first pod that fails, or is taken away, ends the Job.

A backoffLimit above 0 is treated as 0: the product asks for 0 everywhere, so that a flaky node is seen, not masked.
"""

from __future__ import annotations

from cli.simulator.clock import Clock
from cli.simulator.conditions import condition, conditions, is_true, with_condition
from cli.simulator.entry import Change, Entry, Object, controller_reference, owned_by
from cli.simulator.kinds import BATCH, CORE
from cli.simulator.reconcile import Loop
from cli.simulator.store import Store

ACTOR = "job-controller"
LABEL_INDEX = "batch.kubernetes.io/job-completion-index"
TERMINAL = ("Succeeded", "Failed")

Key = tuple[str, str]


class JobController:
    """Watches batch Jobs and their pods."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._loop = Loop[Key](clock, self._reconcile)
        self._lost: set[str] = set()
        """UIDs of Jobs that lost a running pod to somebody else's deletion."""
        self._stopped: set[str] = set()
        """UIDs of the pods that this controller deleted itself."""
        store.watch(self._on_change, "Job", "Pod")

    def _on_change(self, change: Change) -> None:
        entry = change.entry
        if entry.kind.api_version == BATCH:
            if not change.keeps_spec:  # else it is our own status that comes back
                self._loop.poke(entry.key)
            if change.type == "DELETED":
                self._lost.discard(entry.uid)
        elif entry.kind.kind == "Pod" and entry.controller is not None:
            self._on_pod(change, entry.controller)

    def _on_pod(self, change: Change, job: str) -> None:
        pod = change.entry
        leaves = (pod.deleting or change.type == "DELETED") and phase(pod) not in TERMINAL
        if leaves and pod.uid not in self._stopped and self._store.by_uid(job) is not None:
            self._lost.add(job)
        if change.type == "DELETED":
            self._stopped.discard(pod.uid)
        reference = controller_reference(pod.obj) or {}
        self._loop.poke((pod.namespace, reference["name"]))

    def _reconcile(self, key: Key) -> None:
        job = self._store.find(BATCH, "Job", *key)
        if job is None or job.deleting or is_true(job.obj, "Complete", "Failed"):
            return
        pods = [pod for pod in self._store.dependents(job.uid) if pod.kind.kind == "Pod"]
        running = [pod for pod in pods if phase(pod) not in TERMINAL]
        known = conditions(job.obj)
        if job.obj["spec"].get("suspend"):
            known = self._suspend(running, known)
        elif job.uid in self._lost or any(phase(pod) == "Failed" for pod in pods):
            known = self._fail(running, known)
        elif self._succeeded(job, pods):
            known = self._complete(known)
        else:
            self._create_pods(job, pods)
            pods = [pod for pod in self._store.dependents(job.uid) if pod.kind.kind == "Pod"]
        self._write_status(job, pods, known)

    def _suspend(self, running: list[Entry], known: list[Object]) -> list[Object]:
        self._delete(running)
        now = self._clock.stamp()
        return with_condition(known, condition("Suspended", "JobSuspended", "Job suspended", now))

    def _fail(self, running: list[Entry], known: list[Object]) -> list[Object]:
        """Stop the other pods; the Job has failed only when none of them is left."""
        self._delete(running)
        now, message = self._clock.stamp(), "Job has reached the specified backoff limit"
        known = with_condition(known, condition("FailureTarget", "BackoffLimitExceeded", message, now))
        if running:
            return known
        return with_condition(known, condition("Failed", "BackoffLimitExceeded", message, now))

    def _complete(self, known: list[Object]) -> list[Object]:
        now, message = self._clock.stamp(), "Reached expected number of succeeded pods"
        known = with_condition(known, condition("SuccessCriteriaMet", "CompletionsReached", message, now))
        return with_condition(known, condition("Complete", "CompletionsReached", message, now))

    def _succeeded(self, job: Entry, pods: list[Entry]) -> bool:
        done = {pod.labels[LABEL_INDEX] for pod in pods if phase(pod) == "Succeeded"}
        expected: int = job.obj["spec"]["completions"]
        return len(done) >= expected

    def _delete(self, pods: list[Entry]) -> None:
        for pod in pods:
            if not pod.deleting:
                self._stopped.add(pod.uid)
                self._store.delete(pod, actor=ACTOR)

    def _create_pods(self, job: Entry, pods: list[Entry]) -> None:
        present = {pod.labels[LABEL_INDEX] for pod in pods}
        for index in range(job.obj["spec"]["completions"]):
            if str(index) not in present:
                self._store.create(_pod(job, index, self._store.suffix()), actor=ACTOR)

    def _write_status(self, job: Entry, pods: list[Entry], known: list[Object]) -> None:
        running = [pod for pod in pods if phase(pod) not in TERMINAL]
        old = job.obj.get("status") or {}
        status: Object = {
            "active": sum(1 for pod in running if not pod.deleting),
            "ready": sum(1 for pod in running if phase(pod) == "Running"),
            "succeeded": sum(1 for pod in pods if phase(pod) == "Succeeded"),
            "failed": sum(1 for pod in pods if phase(pod) == "Failed"),
            "startTime": old.get("startTime", self._clock.stamp()),
        }
        if known:
            status["conditions"] = known
        live = self._store.find(BATCH, "Job", *job.key)
        if live is not None and live.uid == job.uid and status != old:
            self._store.update_status({**live.obj, "status": status}, actor=ACTOR)


def phase(pod: Entry) -> str:
    """Return a pod's phase."""
    return str((pod.obj.get("status") or {}).get("phase", "Pending"))


def _pod(job: Entry, index: int, suffix: str) -> Object:
    template = job.obj["spec"]["template"]
    metadata = template["metadata"]
    labels = {
        **metadata["labels"],
        "controller-uid": job.uid,
        "job-name": job.name,
        "batch.kubernetes.io/controller-uid": job.uid,
        "batch.kubernetes.io/job-name": job.name,
        LABEL_INDEX: str(index),
    }
    return {
        "apiVersion": CORE,
        "kind": "Pod",
        "metadata": {
            "namespace": job.namespace,
            "name": f"{job.name}-{index}-{suffix}",
            "labels": labels,
            "annotations": {**(metadata.get("annotations") or {}), LABEL_INDEX: str(index)},
            "ownerReferences": [owned_by(job)],
        },
        "spec": {**template["spec"], "hostname": f"{job.name}-{index}"},
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }
