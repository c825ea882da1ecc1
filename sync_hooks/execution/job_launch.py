"""Making a Job's TrainJob: the group's own objects first, then under a name that nobody has used; its measurements."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sync_hooks.api.conditions import IN_PROGRESS
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.model import API_VERSION, GROUP
from sync_hooks.api.names import LABEL_JOB, bandwidth_name, goodput_name, train_job_name
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import (
    BANDWIDTH_MEASUREMENT,
    GOODPUT_MEASUREMENT,
    TRAINING_RUNTIME,
    Child,
    MeasurementChild,
    Request,
)
from sync_hooks.api.sync import Answer, GetObject, ListPods, Observed, Read, Reads, Result, Unreadable
from sync_hooks.api.trainer import JOBSET_VERSION, TRAINER_VERSION, JsonObject
from sync_hooks.execution.blame import CREATION_ERROR
from sync_hooks.execution.job_answer import answer, ending, enter, fail, keep_trying
from sync_hooks.execution.job_dependencies import blocking, missing_dependencies
from sync_hooks.execution.ownership import standing, taken
from sync_hooks.execution.phase import PENDING, is_live
from sync_hooks.execution.unseen import GivenUp, look_again, look_for
from sync_hooks.execution.waiting import CHILD_GIVE_UP_SECONDS, next_look, wait, wait_within
from sync_hooks.planning.trainjob import render_train_job

WORKLOAD_DELETED = "WorkloadDeleted"


def launch(request: Request, spec: JobSpec, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Make the TrainJob of the current attempt, under a name that a live read finds free."""
    metadata = request.parent.metadata
    attempt = status.attempt or 0
    name = train_job_name(metadata.name, attempt)
    train_job = GetObject(TRAINER_VERSION, "TrainJob", name, metadata.namespace)
    jobset = GetObject(JOBSET_VERSION, "JobSet", name, metadata.namespace)
    before = _before(request, attempt)
    wanted: tuple[Read, ...] = (train_job, jobset, *before)
    if any(read not in observed for read in wanted):
        return Reads(wanted)
    if problem := next((observed[read].reason for read in wanted if isinstance(observed[read], Unreadable)), ""):
        return keep_trying(request, status, problem, now)
    live = observed[train_job]
    if live is not None:
        return _taken(request, status, live, now)
    if status.workload_ref is not None and status.workload_ref.name == name:
        return fail(request, status, WORKLOAD_DELETED, f"TrainJob {name} was deleted while it was under way", now)
    if observed[jobset] is not None or any(is_live(pod) for read in before for pod in observed[read]):
        return _wait_for_room(request, status, name, now)
    return _create(request, spec, status, attempt, observed, now)


def _before(request: Request, attempt: int) -> tuple[ListPods, ...]:
    """Read the pods of the attempt before: they hold the nodes until they are gone."""
    if attempt == 0:
        return ()
    metadata = request.parent.metadata
    return (ListPods(metadata.namespace, train_job_name(metadata.name, attempt - 1), fresh=True),)


def _taken(request: Request, status: JobStatus, live: LiveObject, now: datetime) -> Result:
    """Wait for our own TrainJob to be visible, or for an earlier one to go; anything else is a collision."""
    name = live.metadata.name
    whose = standing(live, request.parent)
    if whose == "foreign":
        return fail(request, status, CREATION_ERROR, taken(live), now)
    if whose == "going":
        return _wait_for_room(request, status, name, now)
    waiting = wait(status.waiting, "TrainJobNotSeen", f"TrainJob {name} is being created", now, f"TrainJob/{name}")
    new = status.model_copy(update={"waiting": waiting, "workload_phase": PENDING})
    return answer(request, new, resync_after=next_look(waiting, now))


def _wait_for_room(request: Request, status: JobStatus, name: str, now: datetime) -> Result:
    text = f"what an earlier TrainJob {name} left behind is being removed"
    object_ = f"TrainJob/{name}"
    waiting = wait_within(CHILD_GIVE_UP_SECONDS, status.waiting, "WorkloadTerminating", text, now, object_)
    if waiting is None:
        return fail(request, status, CREATION_ERROR, f"{text} and does not go", now)
    new = status.model_copy(update={"waiting": waiting, "workload_phase": PENDING})
    return answer(request, enter(new, IN_PROGRESS, "WorkloadPending", text, now), resync_after=next_look(waiting, now))


def _create(
    request: Request, spec: JobSpec, status: JobStatus, attempt: int, observed: Observed, now: datetime
) -> Answer:
    wanted = missing_dependencies(request, spec) or [_train_job(request, attempt)]
    waiting = look_for(request, status.waiting, wanted[0], observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return fail(request, status, CREATION_ERROR, waiting.message, now)
    new = status.model_copy(update={"waiting": waiting, "workload_phase": PENDING, "attempt": attempt})
    entered = enter(new, IN_PROGRESS, "WorkloadPending", waiting.message, now)
    return answer(request, entered, wanted, resync_after=look_again(waiting, now))


def _train_job(request: Request, attempt: int) -> JsonObject:
    """Render the TrainJob; it blocks the deletion of a runtime of its own, without which Trainer would hold it."""
    metadata = request.parent.metadata
    made = render_train_job(metadata.name, metadata.namespace, request.parent.spec, metadata.labels or {}, attempt)
    runtime = request.of(TRAINING_RUNTIME, Child).get(made["spec"]["runtimeRef"]["name"])
    return blocking(made, runtime) if runtime else made


def measurements(request: Request, spec: JobSpec, status: JobStatus) -> list[dict[str, Any]]:
    """Return the measurements that were asked for and are not observed; late ones are told of the end as they begin."""
    name, told = request.parent.metadata.name, ending(status)
    wanted = []
    if spec.bandwidth_measurement and bandwidth_name(name) not in request.of(BANDWIDTH_MEASUREMENT, MeasurementChild):
        details: dict[str, Any] = {"ranks": spec.ranks} if spec.ranks else {}
        details |= spec.bandwidth_measurement.to_dict()
        wanted.append(_measurement(request, "BandwidthMeasurement", bandwidth_name(name), details, told))
    if spec.goodput_measurement and goodput_name(name) not in request.of(GOODPUT_MEASUREMENT, MeasurementChild):
        details = spec.goodput_measurement.to_dict()
        wanted.append(_measurement(request, "GoodputMeasurement", goodput_name(name), details, told))
    return wanted


def _measurement(
    request: Request, kind: str, name: str, spec: dict[str, Any], annotations: dict[str, str]
) -> dict[str, Any]:
    """Render a measurement; the Workflow owns it too, so that its results outlive the Job."""
    parent = request.parent.metadata
    workflow = next((owner for owner in parent.owner_references if owner.kind == "Workflow"), None)
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": parent.namespace,
        "labels": {**_own_labels(parent.labels or {}), LABEL_JOB: parent.name},
    }
    if annotations:
        metadata["annotations"] = annotations
    if workflow is not None:
        reference = {
            "apiVersion": workflow.api_version,
            "kind": workflow.kind,
            "name": workflow.name,
            "uid": workflow.uid,
        }
        metadata["ownerReferences"] = [reference]
    job = {"apiGroup": GROUP, "kind": "Job", "name": parent.name}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": {"jobRef": job, **spec}}


def _own_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels of ours; Metacontroller's own (controller-uid) belongs to another parent."""
    return {key: value for key, value in labels.items() if key.startswith((f"{GROUP}/", "app.kubernetes.io/"))}
