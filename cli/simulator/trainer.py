"""Kubeflow Trainer 2.3: makes a TrainJob's JobSet, and copies the status of the JobSet that has the TrainJob's name.

The name alone counts, as with the real one: a name used again takes over the condition of a JobSet that the garbage
collector has not reached yet.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from cli.simulator.api import StoreApi
from cli.simulator.clock import Clock
from cli.simulator.conditions import condition, conditions, is_true, with_condition, without_condition
from cli.simulator.entry import Change, Entry, Object, controller_reference, owned_by
from cli.simulator.errors import ApiError
from cli.simulator.kinds import CORE, JOBSET, TRAINER
from cli.simulator.reconcile import Loop
from cli.simulator.recorder import Recorder
from cli.simulator.store import Store
from cli.simulator.template import NODE, job_set_labels, job_set_spec
from cli.simulator.trainjob_admission import MANAGED_BY, TrainJobAdmission, runtime_of

ACTOR = "trainer"

Key = tuple[str, str]


class Trainer:
    """Watches TrainJobs, JobSets and what else it owns."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._recorder = Recorder(StoreApi(store, ACTOR), clock, "trainer-trainjob-controller")
        self._loop = Loop[Key](clock, self._reconcile)
        store.admit(TRAINER, "TrainJob", TrainJobAdmission(store, clock))
        store.watch(self._on_change, "TrainJob", "JobSet", "ConfigMap", "Secret")

    def _on_change(self, change: Change) -> None:
        entry = change.entry
        if entry.kind.kind == "TrainJob":
            if not change.keeps_spec:  # else it is our own status that comes back
                self._loop.poke(entry.key)
        elif entry.controller is not None and (entry.kind.kind == "JobSet" or change.type == "DELETED"):
            reference = controller_reference(entry.obj) or {}
            if reference["kind"] == "TrainJob":
                self._loop.poke((entry.namespace, reference["name"]))

    def _reconcile(self, key: Key) -> None:
        entry = self._store.find(TRAINER, "TrainJob", *key)
        if entry is None or entry.deleting or entry.obj["spec"].get("managedBy", MANAGED_BY) != MANAGED_BY:
            return
        status = dict(entry.obj.get("status") or {})
        # a failure is forgotten first: it comes back from the JobSet, and without one the job runs again
        known = without_condition(conditions(entry.obj), "Failed")
        problem: ApiError | None = None
        if not is_true(entry.obj, "Complete"):
            problem = self._try_objects(entry)
        known = self._with_suspended(entry, known)
        job_set = self._store.find(JOBSET, "JobSet", *key)
        if job_set is not None:
            known, status["jobsStatus"] = _from_job_set(known, job_set), _jobs_status(job_set)
        elif not is_true(entry.obj, "Complete"):
            problem = problem or ApiError(f'jobsets.jobset.x-k8s.io "{entry.name}" not found')
        status["conditions"] = known
        self._write_status(entry, {name: value for name, value in status.items() if value})
        if problem is not None:
            raise problem

    def _try_objects(self, entry: Entry) -> ApiError | None:
        try:
            self._apply_objects(entry)
        except ApiError as error:
            text = f"TrainJob resources reconciliation failed: {str(error)[:950]}"
            self._recorder.event(entry, "Warning", "TrainJobResourcesCreationFailed", text)
            return error
        return None

    def _apply_objects(self, entry: Entry) -> None:
        runtime = self._snapshot(entry)
        if "mpi" in (runtime["spec"].get("mlPolicy") or {}):
            self._apply_mpi_objects(entry)
        suspend = bool(entry.obj["spec"].get("suspend"))
        job_set = self._store.find(JOBSET, "JobSet", *entry.key)
        if job_set is None:
            self._create(entry, JOBSET, "JobSet", entry.name, job_set_labels(runtime, entry.obj), {
                "spec": job_set_spec(runtime, entry.obj)
            })  # fmt: skip
        elif suspend or job_set.obj["spec"].get("suspend"):
            spec = job_set_spec(runtime, entry.obj)
            self._store.update({**job_set.obj, "spec": spec}, actor=ACTOR)

    def _snapshot(self, entry: Entry) -> Object:
        name = f"{entry.name}-runtime-snapshot"
        kept = self._store.find(CORE, "ConfigMap", entry.namespace, name)
        if kept is not None and kept.controller != entry.uid:
            raise ApiError("unable to get runtime snapshot: a snapshot configmap exists but is owned by another object")
        runtime = runtime_of(self._store, entry.obj)
        if kept is not None:
            return _decoded(kept.obj["data"]["runtime"])
        if runtime is None:
            raise ApiError(f"{entry.obj['spec']['runtimeRef']['name']} not found: not found specified TrainingRuntime")
        self._create(entry, CORE, "ConfigMap", name, {}, {"data": {"runtime": runtime.json.decode()}})
        return runtime.obj

    def _apply_mpi_objects(self, entry: Entry) -> None:
        secret, hosts = f"{entry.name}-mpi-ssh-auth", f"{entry.name}-mpi-hostfile"
        if self._store.find(CORE, "Secret", entry.namespace, secret) is None:
            self._create(entry, CORE, "Secret", secret, {}, {"type": "kubernetes.io/ssh-auth", "immutable": True})
        if self._store.find(CORE, "ConfigMap", entry.namespace, hosts) is None:
            count = entry.obj["spec"].get("trainer", {}).get("numNodes", 1)
            lines = [f"{entry.name}-{NODE}-0-{index}.{entry.name}\n" for index in range(count)]
            self._create(entry, CORE, "ConfigMap", hosts, {}, {"data": {"hostfile": "".join(lines)}})

    def _create(
        self, owner: Entry, api_version: str, kind: str, name: str, labels: dict[str, str], body: Object
    ) -> None:
        metadata: Object = {"namespace": owner.namespace, "name": name, "ownerReferences": [owned_by(owner)]}
        if labels:
            metadata["labels"] = labels
        self._store.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}, actor=ACTOR)

    def _with_suspended(self, entry: Entry, known: list[Object]) -> list[Object]:
        now = self._clock.stamp()
        if entry.obj["spec"].get("suspend"):
            return with_condition(known, condition("Suspended", "Suspended", "TrainJob is suspended", now))
        if is_true(entry.obj, "Suspended"):
            resumed = condition("Suspended", "Resumed", "TrainJob is resumed", now, status="False")
            return with_condition(known, resumed)
        return known

    def _write_status(self, entry: Entry, status: Object) -> None:
        live = self._store.find(TRAINER, "TrainJob", *entry.key)
        if live is None or status == (live.obj.get("status") or {}):
            return
        self._store.update_status({**live.obj, "status": status}, actor=ACTOR)


def _from_job_set(known: list[Object], job_set: Entry) -> list[Object]:
    for theirs, ours in (("Completed", "Complete"), ("Failed", "Failed")):
        for item in conditions(job_set.obj):
            if item["type"] == theirs and item["status"] == "True":
                known = with_condition(known, {**item, "type": ours})
    return known


def _jobs_status(job_set: Entry) -> list[Object]:
    names = ("name", "ready", "succeeded", "failed", "active", "suspended")
    statuses = (job_set.obj.get("status") or {}).get("replicatedJobsStatus") or ()
    return [{name: item[name] for name in names} for item in statuses]


@lru_cache(maxsize=256)
def _decoded(text: str) -> Object:
    decoded: Object = msgspec.json.decode(text)
    return decoded
