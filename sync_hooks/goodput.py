"""The story of a GoodputMeasurement: logs read on from sample to sample, attempt by attempt, to the end of the Job.

Order: a complete one is left alone; nothing is read before a sample is due; Job, profile and pods are found; the logs of
the current attempt are read on, to their end once it has ended. What an attempt showed is summed up when it is over, so
that nothing has to be reset; when no other can follow, the sums are final.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sync_hooks.api.conditions import COMPLETE, FAILED, SUCCEEDED, is_true
from sync_hooks.api.goodputmeasurement import EarlierRuns, GoodputMeasurementSpec, GoodputMeasurementStatus
from sync_hooks.api.logprofile import WorkerStrategy
from sync_hooks.api.observed import Log
from sync_hooks.api.request import Request
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import rfc3339
from sync_hooks.measurements import sampling
from sync_hooks.measurements.attempts import Attempts, cursors, finish, on_attempt, read_pages, shown
from sync_hooks.measurements.page import page_bytes, since, widen
from sync_hooks.measurements.pods import NotThere
from sync_hooks.measurements.profile import CompiledProfile
from sync_hooks.measurements.subject import Gone, JobState, Logs, find_job, find_logs


@dataclass(frozen=True, slots=True)
class Sample:
    """One sync that is due: the request and what it was parsed to, with the status as it will be answered."""

    request: Request
    spec: GoodputMeasurementSpec
    status: GoodputMeasurementStatus
    observed: Observed
    now: datetime

    def having(self, **update: object) -> Sample:
        """Return the sample with fields of its status replaced."""
        return replace(self, status=self.status.model_copy(update=update))

    @property
    def attempts(self) -> Attempts:
        """The attempts so far."""
        return Attempts(self.status.run, self.status.earlier or EarlierRuns())


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a GoodputMeasurement."""
    status = read_status(GoodputMeasurementStatus, request.parent.status)
    if is_true(status.conditions or (), COMPLETE) or request.parent.metadata.deletion_timestamp:
        return sampling.unchanged(request)
    spec = sampling.read_spec(GoodputMeasurementSpec, request.parent.spec)
    if isinstance(spec, str):
        return sampling.answer(request, sampling.measuring(status, "False", sampling.INVALID_SPEC, spec, now))
    left = sampling.seconds_left(status.last_sample_time, sampling.interval(spec.sample_interval), now)
    if left > 0:
        return sampling.unchanged(request, left)
    reads = sampling.first_reads(request, spec)
    if any(read not in observed for read in reads):
        return Reads(reads)
    return _of_job(Sample(request, spec, status, observed, now))


def _of_job(sample: Sample) -> Answer:
    namespace, status = sample.request.parent.metadata.namespace, sample.status
    job = find_job(namespace, sample.spec.job_ref.name, status.job_uid, sample.observed)
    if isinstance(job, Unreadable):
        return sampling.unchanged(sample.request, sampling.WAITING_RESYNC_SECONDS)
    if isinstance(job, Gone):
        missing = NotThere("JobNotFound", job.message)
        return _wait(sample, missing) if status.job_uid is None else _give_up(sample, None, job.message)
    seen = sampling.end_seen(status.end_seen_time, sample.now) if job.ended else None
    sample = sample.having(job_uid=job.uid, end_seen_time=seen)
    run = status.run
    if run is not None and run.finished and run.workload_uid.startswith(job.workload_uid) and job.ended:
        return _complete(sample, job) if job.final else _await_attempt(sample)
    return _of_logs(sample, job)


def _of_logs(sample: Sample, job: JobState) -> Answer:
    namespace, profile = sample.request.parent.metadata.namespace, sample.spec.log_profile_ref
    logs = find_logs(namespace, job, profile, "training_step", _ends, sample.observed)
    if isinstance(logs, Reads):
        return logs
    if not isinstance(logs, Logs):
        return _without_logs(sample, job, logs)
    restart = logs.sources[0].restart
    attempts = on_attempt(sample.attempts, job.workload_uid + (f"/{restart}" if restart else ""))
    sample = sample.having(run=attempts.run, earlier=attempts.earlier, workload_uid=job.workload_uid)
    ...
