"""JobSet 0.12: makes the batch Jobs of a JobSet, follows their ends by its policies, deletes what runs on after them.

No failure policy is modelled: one failed Job fails the JobSet, which is what a JobSet without a policy does.
"""

from __future__ import annotations

from typing import Literal

from cli.simulator.clock import Clock
from cli.simulator.conditions import condition, conditions, is_true, with_condition
from cli.simulator.entry import Change, Entry, Object, controller_reference, owned_by
from cli.simulator.kinds import BATCH, JOBSET, Kind
from cli.simulator.reconcile import Loop
from cli.simulator.rules import invalid
from cli.simulator.store import Store

ACTOR = "jobset"
LABEL_NAME = "jobset.sigs.k8s.io/jobset-name"
LABEL_UID = "jobset.sigs.k8s.io/jobset-uid"
LABEL_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
LABEL_JOB_INDEX = "jobset.sigs.k8s.io/job-index"
LABEL_REPLICAS = "jobset.sigs.k8s.io/replicatedjob-replicas"
LABEL_RESTARTS = "jobset.sigs.k8s.io/restart-attempt"

JOB_SET = Kind(JOBSET, "JobSet", "jobsets", custom=True)
MAX_NAME_LENGTH = 63
POD_SUFFIX = "-abcde"
FINISHED = ("Completed", "Failed")

Key = tuple[str, str]


class JobSetController:
    """Watches JobSets and their Jobs."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._loop = Loop[Key](clock, self._reconcile)
        store.admit(JOBSET, "JobSet", _admit)
        store.watch(self._on_change, "JobSet", "Job")

    def _on_change(self, change: Change) -> None:
        entry = change.entry
        if entry.kind.kind == "JobSet":
            if not change.keeps_spec or is_true(entry.obj, *FINISHED):  # else it is our own status that comes back
                self._loop.poke(entry.key)
        elif entry.kind.api_version == BATCH and entry.controller is not None:
            reference = controller_reference(entry.obj) or {}
            if reference["kind"] == "JobSet":
                self._loop.poke((entry.namespace, reference["name"]))

    def _reconcile(self, key: Key) -> None:
        entry = self._store.find(JOBSET, "JobSet", *key)
        if entry is None or entry.deleting:
            return
        jobs = [job for job in self._store.dependents(entry.uid) if job.kind.kind == "Job"]
        known = conditions(entry.obj)
        finished = is_true(entry.obj, *FINISHED)
        if finished:
            self._delete_active(jobs)
        elif (end := _end(entry, jobs, self._clock.stamp())) is not None:
            known = with_condition(known, end)
        else:
            self._create_jobs(entry, jobs)
            known = self._suspend_or_resume(entry, jobs, known)
        status = {"replicatedJobsStatus": _statuses(entry, jobs), "restarts": 0}
        self._write_status(entry, {**status, **({"conditions": known} if known else {})})

    def _delete_active(self, jobs: list[Entry]) -> None:
        for job in jobs:
            if not job.deleting and not is_true(job.obj, "Complete", "Failed"):
                self._store.delete(job, propagation="Foreground", actor=ACTOR)

    def _create_jobs(self, entry: Entry, jobs: list[Entry]) -> None:
        names = {job.name for job in jobs}
        statuses = {item["name"]: item for item in _statuses(entry, jobs)}
        for job in entry.obj["spec"]["replicatedJobs"]:
            if not _may_start(job, statuses, entry):
                continue
            for index in range(job["replicas"]):
                if f"{entry.name}-{job['name']}-{index}" not in names:
                    self._store.create(_batch_job(entry, job, index), actor=ACTOR)

    def _suspend_or_resume(self, entry: Entry, jobs: list[Entry], known: list[Object]) -> list[Object]:
        suspend = bool(entry.obj["spec"].get("suspend"))
        for job in jobs:
            if bool(job.obj["spec"].get("suspend")) != suspend and not is_true(job.obj, "Complete", "Failed"):
                self._store.update({**job.obj, "spec": {**job.obj["spec"], "suspend": suspend}}, actor=ACTOR)
        now = self._clock.stamp()
        if suspend:
            return with_condition(known, condition("Suspended", "SuspendedJobs", "jobset is suspended", now))
        if is_true(entry.obj, "Suspended"):
            resumed = condition("Suspended", "ResumeJobs", "jobset is resumed", now, status="False")
            return with_condition(known, resumed)
        return known

    def _write_status(self, entry: Entry, status: Object) -> None:
        live = self._store.find(JOBSET, "JobSet", *entry.key)
        if live is not None and live.uid == entry.uid and status != live.obj.get("status"):
            self._store.update_status({**live.obj, "status": status}, actor=ACTOR)


def _admit(operation: Literal["CREATE", "UPDATE"], obj: Object, old: Entry | None) -> Object:
    """Refuse names that leave no room for those of Jobs and pods."""
    if operation == "UPDATE" or old is not None:
        return obj
    name = obj["metadata"]["name"]
    problems = []
    for job in obj["spec"]["replicatedJobs"]:
        job_name = f"{name}-{job['name']}-{job['replicas'] - 1}"
        pods = job["template"]["spec"].get("completions", 1)
        for what, longest in (("job", job_name), ("pod", f"{job_name}-{pods - 1}{POD_SUFFIX}")):
            if len(longest) > MAX_NAME_LENGTH:
                problems.append(
                    f'spec.replicatedJobs: Invalid value: "{job_name}": {what} names generated for this replicatedJob '
                    f"would be longer than {MAX_NAME_LENGTH} characters"
                )
    if problems:
        raise invalid(JOB_SET, name, problems)
    return obj


def success_targets(job_set: Object) -> frozenset[str]:
    """Return the replicatedJobs that decide over success: those named by the policy, else all."""
    targets = (job_set["spec"].get("successPolicy") or {}).get("targetReplicatedJobs")
    return frozenset(targets or (job["name"] for job in job_set["spec"]["replicatedJobs"]))


def _end(entry: Entry, jobs: list[Entry], now: str) -> Object | None:
    failed = sorted(job.name for job in jobs if is_true(job.obj, "Failed"))
    if failed:
        message = f"jobset failed due to one or more job failures (first failed job: {failed[0]})"
        return condition("Failed", "FailedJobs", message, now)
    targets = success_targets(entry.obj)
    expected = sum(job["replicas"] for job in entry.obj["spec"]["replicatedJobs"] if job["name"] in targets)
    done = sum(1 for job in jobs if job.labels[LABEL_REPLICATED_JOB] in targets and is_true(job.obj, "Complete"))
    if (entry.obj["spec"].get("successPolicy") or {}).get("operator") == "Any":
        expected = 1
    if done and done >= expected:
        return condition("Completed", "AllJobsCompleted", "jobset completed successfully", now)
    return None


def _may_start(job: Object, statuses: dict[str, Object], entry: Entry) -> bool:
    replicas = {item["name"]: item["replicas"] for item in entry.obj["spec"]["replicatedJobs"]}
    for dependency in job.get("dependsOn") or ():
        status = statuses[dependency["name"]]
        reached = status["succeeded"]
        if dependency["status"] == "Ready":
            reached += status["failed"] + status["ready"]
        if reached != replicas[dependency["name"]]:
            return False
    return True


def _statuses(entry: Entry, jobs: list[Entry]) -> list[Object]:
    return [
        _status(job["name"], [child for child in jobs if child.labels.get(LABEL_REPLICATED_JOB) == job["name"]])
        for job in sorted(entry.obj["spec"]["replicatedJobs"], key=lambda item: str(item["name"]))
    ]


def _status(name: str, jobs: list[Entry]) -> Object:
    counts = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
    for job in jobs:
        status = job.obj.get("status") or {}
        if is_true(job.obj, "Complete"):
            counts["succeeded"] += 1
        elif is_true(job.obj, "Failed"):
            counts["failed"] += 1
        else:
            ready = status.get("succeeded", 0) + status.get("ready", 0) >= job.obj["spec"]["completions"]
            counts["ready"] += ready
            counts["active"] += status.get("active", 0) > 0
            counts["suspended"] += bool(job.obj["spec"].get("suspend"))
    return {"name": name, **counts}


def _batch_job(entry: Entry, job: Object, index: int) -> Object:
    ours = {
        LABEL_NAME: entry.name,
        LABEL_UID: entry.uid,
        LABEL_REPLICATED_JOB: job["name"],
        LABEL_REPLICAS: str(job["replicas"]),
        LABEL_JOB_INDEX: str(index),
        LABEL_RESTARTS: "0",
    }
    template = job["template"]
    pod = template["spec"]["template"]
    pod_metadata = pod.get("metadata") or {}
    pod = {**pod, "metadata": {**pod_metadata, "labels": {**(pod_metadata.get("labels") or {}), **ours}}}
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": BATCH,
        "kind": "Job",
        "metadata": {
            **{name: metadata[name] for name in ("annotations",) if name in metadata},
            "namespace": entry.namespace,
            "name": f"{entry.name}-{job['name']}-{index}",
            "labels": {**(metadata.get("labels") or {}), **ours},
            "ownerReferences": [owned_by(entry)],
        },
        "spec": {**template["spec"], "template": pod, "suspend": bool(entry.obj["spec"].get("suspend"))},
    }
