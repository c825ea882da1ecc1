"""Pods that are not there although they should be: which, and what those who make them say.

JobSet tells of a Job that it cannot make, the Job of a pod: in events, and nowhere else. Quota is a queue, and what
PodSecurity refuses can be allowed; what is no valid pod never becomes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.names import train_job_name
from sync_hooks.api.observed import Pod, Told
from sync_hooks.api.request import Request
from sync_hooks.api.sync import ListEvents, Observed, Reads, Unreadable
from sync_hooks.api.trainer import LAUNCHER, WORKER
from sync_hooks.execution.phase import LAUNCHER_STARTING, PENDING, STARTING, Workload, is_going, is_launcher
from sync_hooks.execution.planned import planned
from sync_hooks.execution.starting import has_run
from sync_hooks.execution.unfailed import is_ready

NO_JOB = "JobCreationFailed"  # JobSet's reason
NO_POD = "FailedCreate"  # the Job controller's
INVALID = " is invalid: "  # of an API server's words for an object that breaks a rule of its kind


def unmade_pods(spec: JobSpec, pods: Sequence[Pod]) -> Workload | None:
    """Say which pods are not there, None where none is missing or nobody knows how many there should be.

    A launcher may be one of the nodes, and mostly follows when the workers are ready; without it nothing runs, and
    where one has run they were there.
    """
    plan, made = planned(spec), sum(not is_going(pod) for pod in pods)
    if any(is_launcher(pod) and has_run(pod) for pod in pods):
        return None
    if plan.nodes and made < plan.nodes:
        text = f"{made} of {plan.nodes} pods exist: others were not made, or quota or PodSecurity refuse them"
        return Workload(PENDING, STARTING, text)
    if plan.mpi and not any(map(is_launcher, pods)):
        text = "the launcher does not exist yet: it is made when all workers are ready"
        if all(map(is_ready, pods)):
            text = "the launcher does not exist although all workers are ready: quota or PodSecurity may refuse it"
        return Workload(PENDING, LAUNCHER_STARTING, text)
    return None


def refusal(request: Request, spec: JobSpec, status: JobStatus, pods: Sequence[Pod], observed: Observed) -> str | Reads:
    """Return what was said last of pods that were refused, empty where nothing was, or nobody can read it."""
    reads = _reads(request, spec, status, pods)
    if any(read not in observed for read in reads):
        return Reads(reads)
    return next((told.message for read in reads for told in _since(request, observed[read])), "")


def _reads(request: Request, spec: JobSpec, status: JobStatus, pods: Sequence[Pod]) -> tuple[ListEvents, ...]:
    """Return the reads that show why pods are not made: none while workers start that a launcher waits for."""
    plan, name = planned(spec), train_job_name(request.parent.metadata.name, status.attempt or 0)
    there = plan.nodes is not None and len(pods) >= plan.nodes
    if there and not all(map(is_ready, pods)):
        return ()
    namespace, missing = request.parent.metadata.namespace, f"{name}-{LAUNCHER if there else WORKER}-0"
    told = (ListEvents(namespace, NO_JOB, uid=status.jobset_uid),) if status.jobset_uid else ()
    return (*told, ListEvents(namespace, NO_POD, kind="Job", name=missing))


def is_final(words: str) -> bool:
    """Tell whether a refusal will be the same for ever: the API server calls the object invalid."""
    return INVALID in words


def _since(request: Request, found: Sequence[Told] | Unreadable) -> Iterator[Told]:
    """Leave out what was said of an earlier object of the same name."""
    made = request.parent.metadata.creation_timestamp or ""
    return iter(() if isinstance(found, Unreadable) else [told for told in found if not told.at or told.at >= made])
