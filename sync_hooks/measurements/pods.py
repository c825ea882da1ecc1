"""Which pod and container to read: by the JobSet's own account of its pods, never by the order of a list.

Pods belong to a JobSet by its UID, not by name: anybody can write a label with a name. Between pods of one index the
one that ended well wins, then one that runs, then the latest restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from sync_hooks.api.observed import ContainerStatus, Facts, LiveObject, Metadata, Pod
from sync_hooks.api.trainer import ANCESTOR_TRAINER, LABEL_ANCESTOR, LABEL_REPLICATED_JOB

JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
RESTART_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
USUAL_CONTAINER = "node"  # what Trainer calls the container that it fills in

_PHASES = ("Succeeded", "Running", "Failed")


class _IndexedJob(Facts, frozen=True):
    completions: int | None = None
    parallelism: int | None = None


class _JobTemplate(Facts, frozen=True):
    metadata: Metadata = Metadata()
    spec: _IndexedJob = _IndexedJob()


class _ReplicatedJob(Facts, frozen=True):
    name: str = ""
    replicas: int = 1
    template: _JobTemplate = _JobTemplate()

    @property
    def completions(self) -> int:
        spec = self.template.spec
        return spec.completions if spec.completions is not None else spec.parallelism or 1

    @property
    def is_trainer(self) -> bool:
        return (self.template.metadata.labels or {}).get(LABEL_ANCESTOR) == ANCESTOR_TRAINER


class _JobSetSpec(Facts, frozen=True):
    replicated_jobs: tuple[_ReplicatedJob, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A container's log. Times are RFC 3339, by the clock of its node; ``restart`` numbers the JobSet's restarts.

    ``places`` are those of the wanted ends that this log stands for, counted from 0.
    """

    pod: str
    container: str
    finished: bool
    started_at: str | None
    ended_at: str | None
    restart: int
    places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NotThere:
    """There is no log to read, and why. ``gone`` tells that there will be none any more once the workload has ended."""

    reason: str
    message: str
    gone: bool = False


def sources(
    pods: Sequence[Pod],
    jobset: LiveObject,
    replicated_job: str | None,
    container: str | None,
    ends: Sequence[str],
    *,
    left: bool = False,
) -> tuple[Source, ...] | NotThere:
    """Find the log at each end (``first`` or ``last``) of a replicatedJob, once where two ends are one pod.

    With ``left`` those that are left will do: JobSet deletes the other pods of a workload when one of them fails.
    """
    chosen = _replicated_job(jobset, replicated_job) or _labelled(pods, jobset, replicated_job)
    if chosen is None:
        wanted = f"replicatedJob {replicated_job}" if replicated_job else f"replicatedJob labelled {LABEL_ANCESTOR}"
        return NotThere("ReplicatedJobNotFound", f"JobSet {jobset.metadata.name} has no {wanted}")
    own = [pod for pod in pods if _is_of(pod, jobset, chosen.name)]
    if not own:
        return NotThere("PodNotFound", f"replicatedJob {chosen.name} has no pods", gone=True)
    found = [_source(_at(own, chosen, end), container) for end in ends]
    missing = next((source for source in found if isinstance(source, NotThere) and not (left and source.gone)), None)
    return missing or _placed(found)


def _placed(found: Sequence[Source | NotThere]) -> tuple[Source, ...] | NotThere:
    """Note for which ends each log stands; nothing is there where all of them are gone."""
    placed: dict[str, Source] = {}
    for place, source in enumerate(found):
        if isinstance(source, Source):
            known = placed.get(source.pod, source)
            placed[source.pod] = replace(known, places=(*known.places, place))
    missing = next((source for source in found if isinstance(source, NotThere)), None)
    return missing if missing is not None and not placed else tuple(placed.values())


def _replicated_job(jobset: LiveObject, name: str | None) -> _ReplicatedJob | None:
    try:
        jobs = msgspec.convert(jobset.spec, _JobSetSpec).replicated_jobs
    except msgspec.ValidationError:
        return None
    return next((job for job in jobs if (job.name == name if name else job.is_trainer)), None)


def _labelled(pods: Sequence[Pod], jobset: LiveObject, name: str | None) -> _ReplicatedJob | None:
    """Go by the pods' own labels where the JobSet does not tell; JobSet itself labels only Jobs with the ancestor."""
    known = [
        pod
        for pod in pods
        if pod.labels.get(LABEL_ANCESTOR) == ANCESTOR_TRAINER
        and _is_of(pod, jobset, pod.labels.get(LABEL_REPLICATED_JOB, ""))
    ]
    if name or not known:
        return None
    count = max(_number(pod, COMPLETION_INDEX) for pod in known) + 1
    template = _JobTemplate(spec=_IndexedJob(completions=count))
    return _ReplicatedJob(name=min(pod.labels[LABEL_REPLICATED_JOB] for pod in known), template=template)


def _is_of(pod: Pod, jobset: LiveObject, replicated_job: str) -> bool:
    uid = jobset.metadata.uid
    return bool(uid) and pod.labels.get(JOBSET_UID) == uid and pod.labels.get(LABEL_REPLICATED_JOB) == replicated_job


def _at(pods: Sequence[Pod], job: _ReplicatedJob, end: str) -> Pod | None:
    """Return the pod at one end; the last one is known by its number, not by what has been made so far."""
    index = min(_index(pod, job) for pod in pods) if end == "first" else job.replicas * job.completions - 1
    return min((pod for pod in pods if _index(pod, job) == index), key=_preference, default=None)


def _index(pod: Pod, job: _ReplicatedJob) -> int:
    return _number(pod, JOB_INDEX) * job.completions + _number(pod, COMPLETION_INDEX)


def _preference(pod: Pod) -> tuple[int, int, tuple[int, ...], str]:
    phase = _PHASES.index(pod.status.phase) if pod.status.phase in _PHASES else len(_PHASES)
    newest_first = tuple(-ord(letter) for letter in pod.metadata.creation_timestamp or "")
    return phase, -restarts_of(pod), newest_first, pod.name


def _source(pod: Pod | None, container: str | None) -> Source | NotThere:
    if pod is None:
        return NotThere("PodNotFound", "the pod whose log is read does not exist", gone=True)
    names = [item.name for item in pod.spec.containers]
    name = container or _usual(names)
    if name not in names:
        return NotThere("ContainerNotFound", f"pod {pod.name} has no container {name}; it has {', '.join(names)}")
    status = next((item for item in pod.status.container_statuses if item.name == name), ContainerStatus())
    running, terminated = status.state.running, status.state.terminated
    if pod.status.phase not in _PHASES or not (running or terminated):
        why = status.state.waiting.reason if status.state.waiting else pod.status.phase
        return NotThere("PodNotStarted", f"container {name} of pod {pod.name} is not started: {why or 'no status yet'}")
    return Source(
        pod=pod.name,
        container=name,
        finished=terminated is not None or pod.status.phase != "Running",
        started_at=terminated.started_at if terminated else running.started_at if running else None,
        ended_at=terminated.finished_at if terminated else None,
        restart=restarts_of(pod),
    )


def restarts_of(pod: Pod) -> int:
    """Return how often its JobSet had restarted the workload when it made a pod."""
    return _number(pod, RESTART_ATTEMPT)


def _usual(names: Sequence[str]) -> str:
    if USUAL_CONTAINER in names or not names:
        return USUAL_CONTAINER
    return names[0]


def _number(pod: Pod, label: str) -> int:
    text = pod.labels.get(label, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
