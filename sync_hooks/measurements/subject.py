"""What a measurement measures: its Job as it is now, the LogProfile, and the logs of the pods that the profile means.

Every step from the Job to a pod is by UID: the Job that was measured before, the TrainJob of its current attempt, the
JobSet that this TrainJob controls. Whatever cannot be read is told apart from what is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from sync_hooks.api.conditions import FAILED, SUCCEEDED, find
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.job import JobStatus
from sync_hooks.api.logprofile import WorkerStrategy
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.observed import Facts, LiveObject, Pod
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import GetLogProfile, GetObject, ListPods, Observed, Reads, Unreadable
from sync_hooks.api.time import parse_rfc3339
from sync_hooks.api.trainer import JOBSET_VERSION
from sync_hooks.measurements.pods import NotThere, Source, sources
from sync_hooks.measurements.profile import CompiledProfile, field_name, read_profile

DEFAULT_MEASUREMENT_TIMEOUT_SECONDS = 300
LEAST_RETRY_SECONDS = 120
PROFILE_NOT_FOUND = "LogProfileNotFound"


class _JobSpec(Facts, frozen=True):
    measurement_timeout: str | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """The Job as it is now. ``phase`` is that of its workload: empty until it runs, Running, Succeeded or Failed.

    ``final`` tells that no other attempt will come. ``retry_seconds`` is how long logs are tried for after the end.
    """

    uid: str
    workload: str  # name of the TrainJob, and of its JobSet
    workload_uid: str
    phase: str
    final: bool
    end: datetime | None
    retry_seconds: float

    @property
    def ended(self) -> bool:
        """Whether the current attempt is over."""
        return self.phase in (SUCCEEDED, FAILED)


@dataclass(frozen=True, slots=True)
class Logs:
    """How to read, and what: one log, or two where starts and steps come from different pods."""

    profile: CompiledProfile
    sources: tuple[Source, ...]


Ends = Callable[[WorkerStrategy], Sequence[str]]
"""Which ends of a replicatedJob a measurement reads, by the profile's strategy."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The Job that was measured does not exist any more."""

    message: str


def find_job(namespace: str, name: str, known_uid: str | None, observed: Observed) -> JobState | Gone | Unreadable:
    """Read the Job from what was observed of it; ``known_uid`` is that of the Job that was measured before."""
    live: LiveObject | Unreadable | None = observed[job_read(namespace, name)]
    if isinstance(live, Unreadable):
        return live
    if live is None:
        return Gone(f"Job {name} does not exist" + (" any more" if known_uid else ""))
    if known_uid and live.metadata.uid != known_uid:
        return Gone(f"Job {name} was deleted; the one of this name is another")
    status = read_status(JobStatus, live.status)
    ref, phase, end = status.workload_ref, status.workload_phase or "", parse_rfc3339(status.workload_end_time or "")
    over = (find(status.conditions or (), type_) for type_ in (SUCCEEDED, FAILED))
    verdict = next((item for item in over if item is not None and item.status == "True"), None)
    if verdict is not None:
        phase = phase if phase in (SUCCEEDED, FAILED) else verdict.type
        end = end or parse_rfc3339(verdict.last_transition_time)
    return JobState(
        uid=live.metadata.uid,
        workload=ref.name if ref else "",
        workload_uid=(ref.uid or "") if ref else "",
        phase=phase,
        final=verdict is not None or phase == SUCCEEDED,
        end=end,
        retry_seconds=max(LEAST_RETRY_SECONDS, _measurement_timeout(live) / 2),  # before the Job gives up on us
    )


def find_logs(
    namespace: str, job: JobState, profile_name: str, pattern: str, ends: Ends, observed: Observed
) -> Logs | NotThere | Unreadable | Reads:
    """Find the profile, which must have a pattern, and the logs to read, which must be finished once the Job succeeded.

    What failed may have been stopped from outside: its pods then run until they are deleted, and their logs are taken
    as they are. What failed by itself has lost pods: the logs that are left are taken.
    """
    if not job.phase or not job.workload:
        return NotThere("JobNotRunning", "the Job's workload does not run", gone=job.ended)
    profile = find_profile(profile_name, pattern, observed)
    if not isinstance(profile, CompiledProfile):
        return profile
    found = _find_sources(namespace, job, profile, ends(profile.strategy), observed)
    if not isinstance(found, tuple):
        return found
    late = next((source for source in found if job.phase == SUCCEEDED and not source.finished), None)
    if late is not None:
        return NotThere("PodNotFinished", f"pod {late.pod} still runs after the end of the workload")
    return Logs(profile, found)


def find_profile(name: str, pattern: str, observed: Observed) -> CompiledProfile | NotThere | Unreadable:
    """Return a profile that has a pattern, compiled, from what was observed of it; else why there is none."""
    live: LiveObject | Unreadable | None = observed[GetLogProfile(name)]
    if isinstance(live, Unreadable):
        return live
    if live is None:
        return NotThere(PROFILE_NOT_FOUND, f"LogProfile {name} does not exist")
    profile = read_profile(live.spec)
    if not isinstance(profile, CompiledProfile):
        problems = "; ".join(f"{error.field}: {error.message}" for error in profile[:5])
        return NotThere("LogProfileInvalid", f"LogProfile {name}: {problems}")
    if pattern not in profile.patterns:
        return NotThere("LogProfileInvalid", f"LogProfile {name}: spec.patterns.{field_name(pattern)} is missing")
    return profile


def _find_sources(
    namespace: str, job: JobState, profile: CompiledProfile, ends: Sequence[str], observed: Observed
) -> tuple[Source, ...] | NotThere | Unreadable | Reads:
    jobset_read = GetObject(JOBSET_VERSION, "JobSet", job.workload, namespace)
    pods_read = ListPods(namespace, job.workload, fresh=job.ended)  # in a snapshot from before they may still run
    if jobset_read not in observed or pods_read not in observed:
        return Reads((jobset_read, pods_read))
    jobset: LiveObject | Unreadable | None = observed[jobset_read]
    pods: tuple[Pod, ...] | Unreadable = observed[pods_read]
    if isinstance(jobset, Unreadable):
        return jobset
    if isinstance(pods, Unreadable):
        return pods
    if jobset is None:
        return NotThere("JobSetNotFound", f"JobSet {job.workload} does not exist", gone=True)
    if not job.workload_uid or jobset.metadata.controller_uid() != job.workload_uid:
        return NotThere("JobSetNotFound", f"JobSet {job.workload} is not of this Job's TrainJob", gone=True)
    return sources(
        pods, jobset, profile.strategy.replicated_job_name, profile.container, ends, left=job.phase == FAILED
    )


def job_read(namespace: str, name: str) -> GetObject:
    """Return the read that shows a Job as it is now."""
    return GetObject(API_VERSION, "Job", name, namespace)


def _measurement_timeout(job: LiveObject) -> float:
    try:
        text = msgspec.convert(job.spec, _JobSpec).measurement_timeout
    except msgspec.ValidationError:
        text = None
    seconds = parse_duration(text) if text else None
    return DEFAULT_MEASUREMENT_TIMEOUT_SECONDS if seconds is None else seconds
