"""After a Job's workload has ended: blame and failure log, measurements and thresholds, teardown, drained.

Each step is bounded and each ends with a reason. The failed TrainJob goes only after its log has been read, and nothing
of the Job is reported drained while a pod of it still lives. Until then a node that is seen to be dead takes the blame.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.conditions import FAILED, SUCCEEDED, VALIDATION_FAILED, is_true, set_condition
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.job import Figures, JobSpec, JobStatus
from sync_hooks.api.names import bandwidth_name, goodput_name, train_job_name
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import (
    BANDWIDTH_MEASUREMENT,
    GOODPUT_MEASUREMENT,
    TRAIN_JOB,
    MeasurementChild,
    Request,
    TrainJobChild,
)
from sync_hooks.api.results import FailedNode
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, GetObject, ListPods, Observed, Read, Reads, Result, Unreadable
from sync_hooks.api.trainer import TRAINER_VERSION
from sync_hooks.execution.answers import first
from sync_hooks.execution.job_answer import answer
from sync_hooks.execution.job_attempts import restart_remarks
from sync_hooks.execution.job_evidence import MOST_NODES, attribute, look_again, ran_on
from sync_hooks.execution.job_launch import measurements
from sync_hooks.execution.job_recoveries import recoveries
from sync_hooks.execution.phase import is_live, jobset_uid
from sync_hooks.execution.settle import Measured, Validation, read_bandwidth, read_goodput, together, validate
from sync_hooks.execution.unread import lists_ranks, with_unread_nodes
from sync_hooks.execution.waiting import NOT_READ, next_look, next_look_for_told, wait_within, waited

DEFAULT_MEASUREMENT_TIMEOUT_SECONDS = 300
NEXT_STEP_SECONDS = 1
MOST_RECOVERIES = 5  # remarked of a Job
GRACE_SECONDS = 30  # that pods have to end: what takes longer may be on a dead node
DRAIN_GIVE_UP_SECONDS = 300  # a pod on a dead node must not hold the run for ever


def settle(request: Request, spec: JobSpec, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Take the steps after the workload's end, as many as can be taken now."""
    if is_true(status.conditions or (), FAILED) and status.attribution is None:
        judged = attribute(request, spec, status, observed, now)
        if not isinstance(judged, JobStatus):
            return judged
        status = judged
    if not status.settled:
        measured = _measure(request, spec, status, now)
        if not isinstance(measured, JobStatus):
            return measured
        status = _with_recoveries(request, measured, observed)
    return _drain(request, spec, status, observed, now)


def _with_recoveries(request: Request, status: JobStatus, observed: Observed) -> JobStatus:
    """Remark what the workload got over on its own; its pods are looked at before any of this is written down."""
    pods = observed.get(_pods(request, status), ())
    if isinstance(pods, Unreadable) or not is_true(status.conditions or (), SUCCEEDED):
        return status
    own = [pod for pod in pods if jobset_uid(pod) == status.jobset_uid]
    remarks = [*(status.remarks or ()), *first(recoveries(own), MOST_RECOVERIES)]
    return status.model_copy(update={"remarks": remarks or None})


def _pods(request: Request, status: JobStatus) -> ListPods:
    parent = request.parent.metadata
    return ListPods(parent.namespace, train_job_name(parent.name, status.attempt or 0), fresh=True)


def _measure(request: Request, spec: JobSpec, status: JobStatus, now: datetime) -> JobStatus | Result:
    """Wait for the measurements, bounded, then judge."""
    measured = _measured(request, spec)
    if measured.pending:
        names = " and ".join(measured.pending)
        text = f"the {names} measurement reads the finished log"
        patience = _patience(spec)
        waiting = wait_within(patience, status.waiting, "MeasurementPending", text, now)
        if waiting is not None:
            new = status.model_copy(update={"waiting": waiting})
            again = next_look_for_told(waiting, patience, now)
            return answer(request, new, measurements(request, spec, new), resync_after=again)
        texts = tuple(f"{name}: not measured within {spec.measurement_timeout or '5m'}" for name in measured.pending)
        measured = together(measured, Measured(unmeasured=texts))
    succeeded = is_true(status.conditions or (), SUCCEEDED)
    judged = _judge(request, status, validate(spec, measured) if succeeded else None, now)
    figures = Figures.model_validate(dict(measured.figures)) if measured.figures else None
    settled = {
        "figures": figures,
        "unmeasured": list(measured.unmeasured) or None,
        "remarks": [*restart_remarks(judged), *measured.remarks] or None,
        "settled": True,
        "waiting": None,
    }
    return judged.model_copy(update=settled)


def _patience(spec: JobSpec) -> float:
    limit = parse_duration(spec.measurement_timeout) if spec.measurement_timeout else None
    return DEFAULT_MEASUREMENT_TIMEOUT_SECONDS if limit is None else limit


def _measured(request: Request, spec: JobSpec) -> Measured:
    name = request.parent.metadata.name
    parts = []
    if spec.bandwidth_measurement:
        child = request.of(BANDWIDTH_MEASUREMENT, MeasurementChild).get(bandwidth_name(name))
        status = child.status if child else None
        found = read_bandwidth(status, spec)
        parts.append(
            with_unread_nodes(found, spec, "bandwidth") if spec.nodes_apart and not lists_ranks(status) else found
        )
    if spec.goodput_measurement:
        child = request.of(GOODPUT_MEASUREMENT, MeasurementChild).get(goodput_name(name))
        found = read_goodput(child.status if child else None)
        parts.append(with_unread_nodes(found, spec, "goodput"))
    return together(*parts)


def _judge(request: Request, status: JobStatus, validation: Validation | None, now: datetime) -> JobStatus:
    if validation is None:
        return status
    conditions = set_condition(
        status.conditions or (), VALIDATION_FAILED, validation.status, validation.reason, validation.message, now
    )
    new = status.model_copy(update={"conditions": list(conditions)})
    if validation.status != "True":
        return new
    blamed = [
        FailedNode(name=name, reason="ThresholdViolation", message=validation.message)
        for name in (ran_on(request, status)[:MOST_NODES] if validation.blames_group else ())
    ]
    attribution = "Group" if validation.blames_group else "None"
    return new.model_copy(update={"attribution": attribution, "failed_nodes": blamed or None})


def _drain(request: Request, spec: JobSpec, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Drop a failed TrainJob, and say when no pod of the group lives any more.

    It goes only once the API has the verdict: an answer deletes before it is written down. It has gone when a live read
    says so: a cache may not know of it yet, and nobody looks for it afterwards.
    """
    failed = is_true(status.conditions or (), FAILED)
    if failed and not read_status(JobStatus, request.parent.status).settled:
        return answer(request, status, resync_after=NEXT_STEP_SECONDS)
    dropped = tuple(request.of(TRAIN_JOB, TrainJobChild)) if failed else ()
    pods = _pods(request, status)
    train_job = GetObject(TRAINER_VERSION, "TrainJob", pods.jobset, pods.namespace)
    wanted: tuple[Read, ...] = (pods, train_job) if failed and not dropped else (pods,)
    if any(read not in observed for read in wanted):
        return Reads(wanted)
    found = observed[pods]
    gone = not isinstance(found, Unreadable) and not any(is_live(pod) for pod in found)
    if gone and not dropped and not _is_ours(request, observed.get(train_job)):
        return answer(request, status.model_copy(update={"drained": True, "waiting": None}))
    text = "the last pods of the group are going" + (
        f"; {NOT_READ}{found.reason}" if isinstance(found, Unreadable) else ""
    )
    waiting = wait_within(DRAIN_GIVE_UP_SECONDS, status.waiting, "Draining", text, now)
    if failed and not isinstance(found, Unreadable) and waited(status.waiting, now) > GRACE_SECONDS:
        judged = look_again(spec, status, found, observed, now)
        if isinstance(judged, Reads):
            return judged
        status = judged
    if waiting is None:
        return answer(request, status.model_copy(update={"drained": True, "waiting": None}), dropped=dropped)
    new = status.model_copy(update={"waiting": waiting})
    return answer(request, new, dropped=dropped, resync_after=next_look(waiting, now))


def _is_ours(request: Request, found: LiveObject | Unreadable | None) -> bool:
    """Tell whether a TrainJob stands that this Job owns, or may stand."""
    if isinstance(found, LiveObject):
        return found.metadata.controller_uid() == request.parent.metadata.uid
    return found is not None
