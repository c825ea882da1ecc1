"""The story of a Job: one TrainJob an attempt, watched to its end, measured, judged, torn down.

Order: a settled and drained Job is left alone; a Job that has ended is settled (`execution.job_settle`); else its
TrainJob is made (`execution.job_launch`), or followed. A TrainJob's name is used once: the attempt is part of it, and a
live read finds neither a TrainJob nor a JobSet of that name before it is made.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sync_hooks.api.conditions import FAILED, INVALID_SPEC, SUCCEEDED, is_true
from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.model import ObjectReference
from sync_hooks.api.names import train_job_name
from sync_hooks.api.observed import Condition, LiveObject, Pod
from sync_hooks.api.request import TRAIN_JOB, Request, TrainJobChild
from sync_hooks.api.spec import read_spec
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, Busy, GetObject, ListNodes, ListPods, Observed, Read, Reads, Result, Unreadable
from sync_hooks.api.time import rfc3339
from sync_hooks.api.trainer import JOBSET_VERSION
from sync_hooks.execution.answers import keep
from sync_hooks.execution.blame import CREATION_ERROR, TIMED_OUT, WORKLOAD_FAILED
from sync_hooks.execution.job_answer import enter, fail, keep_trying
from sync_hooks.execution.job_attempts import go_on
from sync_hooks.execution.job_clock import overtime
from sync_hooks.execution.job_launch import WORKLOAD_DELETED, launch
from sync_hooks.execution.job_pending import hold_back
from sync_hooks.execution.job_places import note_places, of_jobset
from sync_hooks.execution.job_restart import begin_restart, is_restarting, may_restart
from sync_hooks.execution.job_settle import settle
from sync_hooks.execution.job_teardown import tear_down
from sync_hooks.execution.job_watch import ran_out, watch, watch_blind
from sync_hooks.execution.phase import FAILED as PHASE_FAILED
from sync_hooks.execution.phase import (
    PENDING,
    Workload,
    belongs,
    confirms,
    doubtful_condition,
    ended,
    jobset_uid,
    own_pods,
    suspended,
    terminal_condition,
)
from sync_hooks.execution.phase import SUCCEEDED as PHASE_SUCCEEDED
from sync_hooks.execution.waiting import CHILD_GIVE_UP_SECONDS, wait_within


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a Job."""
    status = read_status(JobStatus, request.parent.status)
    if request.parent.metadata.deletion_timestamp or (status.settled and status.drained):
        return keep(request)
    spec = read_spec(JobSpec, request.parent.spec)
    if isinstance(spec, Busy):
        return spec
    if isinstance(spec, str):
        final = status.model_copy(update={"settled": True, "drained": True})
        return fail(request, final, INVALID_SPEC, spec, now)
    if is_true(status.conditions or (), SUCCEEDED, FAILED):
        return settle(request, spec, status, observed, now)
    if is_restarting(status):
        return go_on(request, spec, status, observed, now)
    train_job = _train_job(request, status)
    if train_job is None:
        return launch(request, spec, status, observed, now)
    return _follow(request, spec, status, train_job, observed, now)


def _train_job(request: Request, status: JobStatus) -> TrainJobChild | None:
    return request.of(TRAIN_JOB, TrainJobChild).get(train_job_name(request.parent.metadata.name, status.attempt or 0))


def _follow(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    train_job: TrainJobChild,
    observed: Observed,
    now: datetime,
) -> Answer:
    if status.workload_ref is not None and status.workload_ref.uid != train_job.metadata.uid:
        text = f"TrainJob {train_job.name} was deleted and made again by somebody else"
        return fail(request, status, WORKLOAD_DELETED, text, now)
    reference = _reference(request, train_job)
    status = status.model_copy(update={"workload_ref": reference, "attempt": status.attempt or 0})
    if condition := terminal_condition(train_job):
        return _conclude(request, spec, status, train_job, ended(condition), observed, now)
    if train_job.spec.suspend:
        return hold_back(request, spec, status, suspended(train_job), now)
    if doubtful := doubtful_condition(train_job):
        return _follow_doubtful(request, spec, status, train_job, doubtful, observed, now)
    return _watch(request, spec, status, train_job, observed, now)


def _follow_doubtful(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    train_job: TrainJobChild,
    doubtful: Condition,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Ask the JobSet whether an end that seems older than the TrainJob is its own: it has ended now, if so."""
    jobset = _jobset(request, train_job)
    if jobset not in observed:
        return Reads((jobset,))
    seen = observed[jobset]
    if not isinstance(seen, LiveObject) or not confirms(seen, train_job, doubtful):
        return _watch(request, spec, status, train_job, observed, now)
    return _conclude(request, spec, status, train_job, replace(ended(doubtful), ended=None), observed, now)


def _conclude(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    train_job: TrainJobChild,
    workload: Workload,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Make sure whose end it is, and that the workload has been somewhere, before it counts."""
    jobset = _jobset(request, train_job)
    seen = observed.get(jobset)
    if isinstance(seen, LiveObject) and belongs(seen, train_job):
        status = of_jobset(status, seen.metadata.uid)
    pods = ListPods(request.parent.metadata.namespace, train_job.name, fresh=True)
    looked_for = _is_unknown(status) or workload.phase == PHASE_FAILED
    wanted: tuple[Read, ...] = (jobset, pods) if looked_for else (jobset,)
    if any(read not in observed for read in wanted):
        return Reads(wanted)
    if isinstance(seen, Unreadable):
        return keep_trying(request, status, seen.reason, now)
    if not belongs(seen, train_job):
        return _wait_for_foreign(request, spec, status, now)
    found = observed.get(pods, ())
    own = own_pods(() if isinstance(found, Unreadable) else found, seen)
    status = note_places(spec, status, own)
    if seen is None and workload.phase == PHASE_SUCCEEDED and status.workload_start_time is None:
        text = f"TrainJob {train_job.name} is called complete, but its JobSet is gone and no pod of it was ever seen"
        return fail(request, status, WORKLOAD_DELETED, text, now)
    return _end(request, spec, status, workload, own, observed, now)


def _wait_for_foreign(request: Request, spec: JobSpec, status: JobStatus, now: datetime) -> Result:
    """Wait, bounded, for a JobSet of somebody else to go: Trainer has copied its end."""
    text = "an earlier JobSet of this name is being removed"
    waiting = wait_within(CHILD_GIVE_UP_SECONDS, status.waiting, "WorkloadTerminating", text, now)
    if waiting is None:
        return fail(request, status, CREATION_ERROR, f"{text} and does not go", now)
    held = status.model_copy(update={"waiting": waiting})
    return hold_back(request, spec, held, Workload(PENDING, waiting.reason, text), now)


def _watch(
    request: Request, spec: JobSpec, status: JobStatus, train_job: TrainJobChild, observed: Observed, now: datetime
) -> Answer:
    """Look at the pods: at a shared snapshot, but for the first that run, which may be gone a moment later.

    Where a snapshot has none of pods that were seen, it may be older than the look that saw them.
    """
    first = not status.nodes and any(item.ready for item in train_job.status.jobs_status)
    pods = _pods(request, status, train_job, observed, fresh=first)
    if pods == () and status.workload_start_time is not None:
        pods = _pods(request, status, train_job, observed, fresh=True)
    if isinstance(pods, Reads):
        return pods
    if isinstance(pods, Unreadable):
        return watch_blind(request, spec, status, pods.reason, now)
    seen = observed.get(_jobset(request, train_job))
    if isinstance(seen, LiveObject) and not belongs(seen, train_job) and status.workload_start_time is None:
        return _wait_for_foreign(request, spec, status, now)
    return watch(request, spec, status, pods, observed, now)


def _pods(
    request: Request, status: JobStatus, train_job: TrainJobChild, observed: Observed, *, fresh: bool
) -> tuple[Pod, ...] | Unreadable | Reads:
    """Return the pods of the workload: those of the JobSet that the TrainJob owns, which is read where pods are new."""
    pods, jobset = ListPods(request.parent.metadata.namespace, train_job.name, fresh=fresh), _jobset(request, train_job)
    if pods not in observed or ListNodes() not in observed:
        return Reads((pods, ListNodes()))
    found = observed[pods]
    if isinstance(found, Unreadable) or all(jobset_uid(pod) == status.jobset_uid for pod in found):
        return found  # type: ignore[no-any-return]  # observed under this very read
    if jobset not in observed:
        return Reads((jobset,))
    if isinstance(observed[jobset], Unreadable):
        return observed[jobset]  # type: ignore[no-any-return]
    return own_pods(found, observed[jobset]) if belongs(observed[jobset], train_job) else ()


def _jobset(request: Request, train_job: TrainJobChild) -> GetObject:
    return GetObject(JOBSET_VERSION, "JobSet", train_job.name, request.parent.metadata.namespace)


def _is_unknown(status: JobStatus) -> bool:
    """Tell whether a workload has ended of which nobody has seen when or where it ran."""
    return status.workload_start_time is None or not status.nodes


def _reference(request: Request, train_job: TrainJobChild) -> ObjectReference:
    return ObjectReference(
        api_version=train_job.api_version,
        kind=train_job.kind,
        name=train_job.name,
        namespace=request.parent.metadata.namespace,
        uid=train_job.metadata.uid,
    )


def _end(
    request: Request,
    spec: JobSpec,
    status: JobStatus,
    workload: Workload,
    pods: tuple[Pod, ...],
    observed: Observed,
    now: datetime,
) -> Answer:
    update = {"workload_phase": workload.phase, "workload_end_time": workload.ended or rfc3339(now), "waiting": None}
    new = status.model_copy(update=update)
    text = f"{workload.reason}: {workload.message}"
    if workload.phase == PHASE_FAILED and ran_out(spec, new, pods):
        return settle(request, spec, enter(new, FAILED, TIMED_OUT, f"{overtime(spec)}: {text}", now), observed, now)
    if workload.phase == PHASE_FAILED and may_restart(spec, new):
        return begin_restart(request, new, text, now)
    if workload.phase == PHASE_FAILED:
        return settle(request, spec, enter(new, FAILED, WORKLOAD_FAILED, text, now), observed, now)
    return settle(request, spec, enter(new, SUCCEEDED, "WorkloadCompleted", workload.message, now), observed, now)


def finalize(request: Request, observed: Observed, now: datetime) -> Answer:
    """Tear down a Job that has objects of its own: its TrainJob, then its pods, then devices and storage."""
    return tear_down(request, observed, now)
