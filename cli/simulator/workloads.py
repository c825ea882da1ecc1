"""Who is who around a workload: from a pod to its JobSet, its TrainJob, its Job, and the nodes meant for it."""

from __future__ import annotations

import re

from cli.simulator.batch import LABEL_INDEX
from cli.simulator.entry import Entry, Object, controller_reference
from cli.simulator.jobset import LABEL_REPLICATED_JOB, LABEL_UID
from cli.simulator.kinds import CORE, CRE, JOBSET, TRAINER
from cli.simulator.placement import HOSTNAME, named_hostnames
from cli.simulator.store import Store
from cli.simulator.template import job_set_spec
from cli.simulator.trainjob_admission import runtime_of
from sync_hooks.api.names import ANNOTATION_GROUP_NODES, LABEL_ITERATION

ATTEMPT = re.compile(r"-w(\d+)$")


def job_set_of(store: Store, pod: Entry) -> Entry | None:
    """Find the JobSet of a pod by the UID in its label."""
    entry = store.by_uid(pod.labels.get(LABEL_UID, ""))
    return entry if entry is not None and entry.kind.api_version == JOBSET else None


def train_job_of(store: Store, job_set: Entry) -> Entry | None:
    """Find the TrainJob that owns a JobSet."""
    reference = controller_reference(job_set.obj) or {}
    return store.find(TRAINER, "TrainJob", job_set.namespace, reference.get("name", ""))


def job_of(store: Store, train_job: Object) -> Entry | None:
    """Find our Job that owns a TrainJob, None for a TrainJob of somebody else."""
    reference = controller_reference(train_job) or {}
    if reference.get("apiVersion") != CRE:
        return None
    return store.find(CRE, reference["kind"], train_job["metadata"].get("namespace", ""), reference["name"])


def pods_of(store: Store, job_set: Entry) -> list[Entry]:
    """List the pods of a JobSet by replicatedJob and index."""
    found = store.select(CORE, "Pod", job_set.namespace, {LABEL_UID: job_set.uid})
    return sorted(found, key=lambda pod: (pod.labels[LABEL_REPLICATED_JOB], int(pod.labels[LABEL_INDEX])))


def pod_count(job_set: Object) -> int:
    """Count the pods that a JobSet has when all of them exist."""
    jobs = job_set["spec"]["replicatedJobs"]
    return sum(int(job["replicas"] * job["template"]["spec"]["completions"]) for job in jobs)


def iteration_of(train_job: Object, job: Entry | None) -> int:
    """Read the iteration from the labels of a TrainJob or its Job; 1 where there is none."""
    labels = {**(job.labels if job is not None else {}), **(train_job["metadata"].get("labels") or {})}
    text = labels.get(LABEL_ITERATION, "1")
    return int(text) if text.isdecimal() else 1


def attempt_of(train_job: Object) -> int:
    """Read the attempt from a TrainJob's name; 0 where there is none."""
    match = ATTEMPT.search(train_job["metadata"].get("name", ""))
    return int(match.group(1)) if match is not None else 0


def group_nodes(store: Store, train_job: Object, job: Entry | None) -> set[str]:
    """Collect the group's nodes: those that its Job names, and those that the pods' affinity names."""
    annotations = (job.metadata.get("annotations") or {}) if job is not None else {}
    named = {name for name in annotations.get(ANNOTATION_GROUP_NODES, "").split(",") if name}
    runtime = runtime_of(store, train_job)
    if runtime is None:
        return named
    for replicated in job_set_spec(runtime.obj, train_job)["replicatedJobs"]:
        for hostname in named_hostnames(replicated["template"]["spec"]["template"]["spec"]) or ():
            named |= {node.name for node in store.select(CORE, "Node", None, {HOSTNAME: hostname})} or {hostname}
    return named
