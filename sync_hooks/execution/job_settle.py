"""After a Job's workload has ended: blame and failure log, measurements and thresholds, teardown, drained.

Each step is bounded and each ends with a reason. The failed TrainJob goes only after its log has been read, and nothing
of the Job is reported drained while a pod of it still lives.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.conditions import FAILED, SUCCEEDED, VALIDATION_FAILED, is_true, set_condition
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.job import Figures, JobSpec, JobStatus
from sync_hooks.api.model import Condition
from sync_hooks.api.names import ANNOTATION_GROUP_NODES, bandwidth_name, goodput_name, train_job_name
from sync_hooks.api.observed import Log, Pod
from sync_hooks.api.request import (
    BANDWIDTH_MEASUREMENT,
    GOODPUT_MEASUREMENT,
    TRAIN_JOB,
    MeasurementChild,
    Request,
    TrainJobChild,
)
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import Answer, GetObject, ListPods, Observed, Reads, Result, Unreadable
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS
from sync_hooks.execution.blame import RAN_AND_FAILED, Blame, Failure, blame, failure_log, failures, hung, log_read
from sync_hooks.execution.job_answer import answer
from sync_hooks.execution.job_launch import JOBSET_API_VERSION, measurements
from sync_hooks.execution.phase import is_launcher, is_live, own_pods
from sync_hooks.execution.settle import Measured, Validation, read_bandwidth, read_goodput, together, validate
from sync_hooks.execution.waiting import next_look, wait, waited

DEFAULT_MEASUREMENT_TIMEOUT_SECONDS = 300
EVIDENCE_GIVE_UP_SECONDS = 60  # for pods and logs of a failed workload
DRAIN_GIVE_UP_SECONDS = 300  # a pod on a dead node must not hold the run for ever
MOST_NODES = 100  # listed in the status; the annotation has them all


def settle(request: Request, spec: JobSpec, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Take the next step after the workload's end."""
    if is_true(status.conditions or (), FAILED) and status.attribution is None:
        return _attribute(request, status, observed, now)
    if not status.settled:
        return _measure(request, spec, status, now)
    return _drain(request, status, observed, now)


def _attribute(request: Request, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Find out who failed, and keep the end of its log, before anything is torn down."""
    failure = next(item for item in status.conditions or () if item.type == FAILED)
    if failure.reason not in RAN_AND_FAILED:
        return answer(request, status.model_copy(update={"attribution": "None", "waiting": None}), resync_after=1)
    evidence = _evidence(request, status, observed)
    if isinstance(evidence, Reads):
        return evidence
    waiting = wait(status.waiting, "EvidencePending", "pods and logs of the failed workload are being read", now)
    if isinstance(evidence, Unreadable) and waited(waiting, now) < EVIDENCE_GIVE_UP_SECONDS:
        new = status.model_copy(update={"waiting": waiting})
        return answer(request, new, resync_after=UNREADABLE_RESYNC_SECONDS)
    pods = () if isinstance(evidence, Unreadable) else evidence
    failed = failures(pods)
    chosen = failed[0] if failed else hung(pods)
    tail = _tail(chosen, observed)
    if isinstance(tail, Reads):
        return tail
    text = tail.content.decode(errors="replace") if isinstance(tail, Log) and chosen and is_launcher(chosen.pod) else ""
    found = blame(failed, pods, _nodes(request), text)
    new = status.model_copy(
        update={
            "conditions": _explained(status, found),
            "attribution": found.attribution,
            "failed_nodes": _blamed(request, found) or None,
            "failure_log": failure_log(chosen, tail),
            "waiting": None,
        }
    )
    return answer(request, new, resync_after=1)


def _evidence(request: Request, status: JobStatus, observed: Observed) -> tuple[Pod, ...] | Reads | Unreadable:
    namespace = request.parent.metadata.namespace
    name = status.workload_ref.name if status.workload_ref else train_job_name(request.parent.metadata.name, 0)
    jobset, pods = GetObject(JOBSET_API_VERSION, "JobSet", name, namespace), ListPods(namespace, name, fresh=True)
    if jobset not in observed or pods not in observed:
        return Reads((jobset, pods))
    for read in (jobset, pods):
        if isinstance(observed[read], Unreadable):
            return Unreadable(observed[read].reason)
    return own_pods(observed[pods], observed[jobset])


def _tail(chosen: Failure | None, observed: Observed) -> Log | Unreadable | Reads | None:
    if chosen is None:
        return None
    read = log_read(chosen)
    if read not in observed:
        return Reads((read,))
    found: Log | Unreadable | None = observed[read]
    return found


def _nodes(request: Request) -> list[str]:
    annotation = (request.parent.metadata.annotations or {}).get(ANNOTATION_GROUP_NODES, "")
    return [name for name in annotation.split(",") if name]


def _explained(status: JobStatus, found: Blame) -> list[Condition]:
    """Add to the failure's message what the pods tell: it is what people read first."""
    return [
        item.model_copy(update={"message": f"{item.message}; {found.message}"})
        if item.type == FAILED and found.message
        else item
        for item in status.conditions or ()
    ]


def _blamed(request: Request, found: Blame) -> list[FailedNode]:
    if found.attribution != "Group":
        return list(found.nodes)
    nodes = _nodes(request)[:MOST_NODES]
    return [FailedNode(name=name, reason="WorkloadFailed", message=found.message) for name in nodes]


def _measure(request: Request, spec: JobSpec, status: JobStatus, now: datetime) -> Result:
    """Wait for the measurements, bounded, then judge."""
    measured = _measured(request, spec)
    if measured.pending:
        names = " and ".join(measured.pending)
        waiting = wait(status.waiting, "MeasurementPending", f"the {names} measurement reads the finished log", now)
        limit = parse_duration(spec.measurement_timeout) if spec.measurement_timeout else None
        limit = limit if limit is not None else DEFAULT_MEASUREMENT_TIMEOUT_SECONDS
        left = limit - waited(waiting, now)
        if left > 0:
            new = status.model_copy(update={"waiting": waiting})
            return answer(request, new, measurements(request, spec), resync_after=min(left + 1, 60))
        texts = tuple(f"{name}: not measured within {spec.measurement_timeout or '5m'}" for name in measured.pending)
        measured = together(measured, Measured(unmeasured=texts))
    succeeded = is_true(status.conditions or (), SUCCEEDED)
    judged = _judge(request, status, validate(spec, measured) if succeeded else None, now)
    figures = Figures.model_validate(dict(measured.figures)) if measured.figures else None
    unmeasured = list(measured.unmeasured) or None
    settled = {"figures": figures, "unmeasured": unmeasured, "settled": True, "waiting": None}
    return answer(request, judged.model_copy(update=settled), resync_after=1)


def _measured(request: Request, spec: JobSpec) -> Measured:
    name = request.parent.metadata.name
    parts = []
    if spec.bandwidth_measurement:
        child = request.of(BANDWIDTH_MEASUREMENT, MeasurementChild).get(bandwidth_name(name))
        parts.append(read_bandwidth(child.status if child else None))
    if spec.goodput_measurement:
        child = request.of(GOODPUT_MEASUREMENT, MeasurementChild).get(goodput_name(name))
        parts.append(read_goodput(child.status if child else None))
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
        for name in (_nodes(request)[:MOST_NODES] if validation.blames_group else ())
    ]
    attribution = "Group" if validation.blames_group else "None"
    return new.model_copy(update={"attribution": attribution, "failed_nodes": blamed or None})


def _drain(request: Request, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Drop a failed TrainJob, and say when no pod of the group lives any more."""
    failed = is_true(status.conditions or (), FAILED)
    dropped = tuple(request.of(TRAIN_JOB, TrainJobChild)) if failed else ()
    name = status.workload_ref.name if status.workload_ref else train_job_name(request.parent.metadata.name, 0)
    pods = ListPods(request.parent.metadata.namespace, name, fresh=True)
    if pods not in observed:
        return Reads((pods,))
    waiting = wait(status.waiting, "Draining", "the last pods of the group are going", now)
    over = waited(waiting, now) > DRAIN_GIVE_UP_SECONDS
    gone = not isinstance(observed[pods], Unreadable) and not any(is_live(pod) for pod in observed[pods])
    if (gone and not dropped) or over:
        return answer(request, status.model_copy(update={"drained": True, "waiting": None}), dropped=dropped)
    return answer(
        request, status.model_copy(update={"waiting": waiting}), dropped=dropped, resync_after=next_look(waiting, now)
    )
