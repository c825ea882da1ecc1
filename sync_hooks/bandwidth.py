"""The story of a BandwidthMeasurement: samples while its Job runs, one read of the whole finished log, then never again.

Order: a complete one is left alone; nothing is read before a sample is due; Job, profile and pod are found; a running log
is read on from where the last sample ended, a finished one once more from its beginning, page by page. What that brings
is final, unless rotation took rows that were seen before: then those that were seen count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sync_hooks.api.bandwidthmeasurement import (
    BandwidthMeasurementSpec,
    BandwidthMeasurementStatus,
    BandwidthReading,
)
from sync_hooks.api.conditions import COMPLETE, SUCCEEDED, is_true
from sync_hooks.api.logprofile import WorkerStrategy
from sync_hooks.api.observed import Log
from sync_hooks.api.request import Request
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import Answer, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import rfc3339
from sync_hooks.measurements import sampling
from sync_hooks.measurements.page import page_bytes, since, widen
from sync_hooks.measurements.pods import NotThere
from sync_hooks.measurements.reading import nothing_in, read_page, rotated
from sync_hooks.measurements.subject import Gone, JobState, Logs, find_job, find_logs
from sync_hooks.measurements.summary import rows_seen, shown
from sync_hooks.measurements.tally import Wanted


@dataclass(frozen=True, slots=True)
class Sample:
    """One sync that is due: the request and what it was parsed to, with the status as it will be answered."""

    request: Request
    spec: BandwidthMeasurementSpec
    status: BandwidthMeasurementStatus
    observed: Observed
    now: datetime

    def having(self, **update: object) -> Sample:
        """Return the sample with fields of its status replaced."""
        return replace(self, status=self.status.model_copy(update=update))

    @property
    def wanted(self) -> Wanted:
        """What the table must be of."""
        return Wanted(self.spec.test_type, self.spec.ranks)


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a BandwidthMeasurement."""
    status = read_status(BandwidthMeasurementStatus, request.parent.status)
    if is_true(status.conditions or (), COMPLETE) or request.parent.metadata.deletion_timestamp:
        return sampling.unchanged(request)
    spec = sampling.read_spec(BandwidthMeasurementSpec, request.parent.spec)
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
    if job.workload_uid and status.workload_uid not in (None, job.workload_uid):  # another attempt starts from nothing
        sample = replace(sample, status=BandwidthMeasurementStatus(conditions=status.conditions))
    sample = sample.having(
        job_uid=job.uid,
        workload_uid=job.workload_uid or None,
        end_seen_time=sampling.end_seen(sample.status.end_seen_time, sample.now) if job.ended else None,
    )
    return _of_logs(sample, job)


def _of_logs(sample: Sample, job: JobState) -> Answer:
    namespace, profile = sample.request.parent.metadata.namespace, sample.spec.log_profile_ref
    logs = find_logs(namespace, job, profile, "bandwidth_result", _first_pod, sample.observed)
    if isinstance(logs, Reads):
        return logs
    if not isinstance(logs, Logs):
        return _without_logs(sample, job, logs)
    if job.ended and not job.final:
        return _wait(sample, NotThere("AttemptFailed", "another attempt may follow"))
    reading = (sample.status.final_reading if job.ended else sample.status.reading) or BandwidthReading()
    read = sampling.log_read(sample.request, logs.sources[0], since(reading.cursor), page_bytes(reading.cursor))
    pages = sampling.pages((read,), sample.observed)
    if isinstance(pages, Reads):
        return pages
    if isinstance(pages, Unreadable):
        return _without_logs(sample, job, pages)
    if job.ended:
        return _finish(sample, job, logs, reading, pages[0])
    return _read_running(sample, logs, reading, pages[0])


def _first_pod(_: WorkerStrategy) -> tuple[str, ...]:
    return ("first",)


def _read_running(sample: Sample, logs: Logs, reading: BandwidthReading, page: Log) -> Result:
    """Read on from the last sample; a page that was cut is followed by the next one at once."""
    reading, window = read_page(reading, page, logs.profile, sample.wanted, ended=False, now=sample.now)
    started = sample.status.start_time or (rfc3339(sample.now) if rows_seen(reading) else None)
    sample = sample.having(**shown(reading, sample.wanted), reading=reading, start_time=started)
    more = page.truncated and not (window.stuck and widen(reading.cursor) is None)
    if not more:
        sample = sample.having(last_sample_time=rfc3339(sample.now))
    message = f"{rows_seen(reading)} rows read from pod {logs.sources[0].pod}"
    status = sampling.measuring(sample.status, "True", sampling.JOB_RUNNING, message, sample.now)
    seconds = sampling.NEXT_PAGE_RESYNC_SECONDS if more else sampling.interval(sample.spec.sample_interval)
    return sampling.answer(sample.request, status, seconds)


def _finish(sample: Sample, job: JobState, logs: Logs, final: BandwidthReading, page: Log) -> Answer:
    """Read the finished log from its beginning; what was read while it ran goes on too, for what rotation took."""
    narrowest = widen(final.cursor) is None
    final, window = read_page(final, page, logs.profile, sample.wanted, ended=True, now=sample.now)
    if window.stuck and narrowest:
        return _give_up(sample, job, f"the log of pod {logs.sources[0].pod} cannot be read in pages")
    running = sample.status.reading
    if running is not None and running.cursor.last_line_time:
        running, _ = read_page(running, page, logs.profile, sample.wanted, ended=True, now=sample.now)
    if not window.last:
        return _pend(sample.having(final_reading=final, reading=running), "the finished log is being read", again=1)
    if running is not None and rows_seen(running) > rows_seen(final):
        note = "the beginning of the log was rotated away; rows that were read before count"
        return _complete(sample, job, running, note)
    return _complete(sample, job, final, rotated(final, running, logs.sources[0].started_at))


def _without_logs(sample: Sample, job: JobState, problem: NotThere | Unreadable) -> Answer:
    """Wait while there is something to wait for, and end with a reason when there is not."""
    if not job.ended:
        return _wait(sample, problem)
    message = problem.message if isinstance(problem, NotThere) else problem.reason
    over = sampling.retry_is_over(sample.status.end_seen_time, job.retry_seconds, sample.now)
    if over or (job.phase != SUCCEEDED and isinstance(problem, NotThere) and problem.gone):
        return _give_up(sample, job, message)
    return _pend(sample, message, again=sampling.WAITING_RESYNC_SECONDS)


def _wait(sample: Sample, problem: NotThere | Unreadable) -> Result:
    if isinstance(problem, Unreadable):
        return sampling.unchanged(sample.request, sampling.WAITING_RESYNC_SECONDS)
    status = sampling.measuring(sample.status, "False", problem.reason, problem.message, sample.now)
    return sampling.answer(sample.request, status, sampling.WAITING_RESYNC_SECONDS)


def _pend(sample: Sample, message: str, again: float) -> Result:
    status = sampling.measuring(sample.status, "False", sampling.FINAL_READ_PENDING, message, sample.now)
    return sampling.answer(sample.request, status, again)


def _complete(sample: Sample, job: JobState, reading: BandwidthReading, note: str) -> Answer:
    """End with what the log held."""
    rows = rows_seen(reading)
    sample = sample.having(**shown(reading, sample.wanted))
    if note and rows:
        sample = sample.having(notes=[*(sample.status.notes or ()), note])
    if job.phase != SUCCEEDED:
        return _end(sample, job, sampling.JOB_FAILED, f"the Job failed; {rows} rows were read")
    if not rows:
        return _end(sample, job, sampling.NO_DATA, note or nothing_in(reading))
    return _end(sample, job, sampling.JOB_SUCCEEDED, f"{rows} rows of {len(reading.sizes or ())} sizes were read")


def _give_up(sample: Sample, job: JobState | None, message: str) -> Answer:
    """End without a complete read. Figures go: nothing is judged by numbers that may be incomplete."""
    notes = list(sample.status.notes or ())
    if sample.status.results:
        notes.append("the results are provisional: the finished log was not read")
    if job is not None and job.phase != SUCCEEDED:
        return _end(sample.having(notes=notes or None), job, sampling.JOB_FAILED, f"the Job failed; {message}")
    return _end(sample.having(notes=notes or None, summary=None), job, sampling.LOGS_UNAVAILABLE, message)


def _end(sample: Sample, job: JobState | None, reason: str, message: str) -> Answer:
    older = sampling.outdated(sample.request, sample.observed)
    if older is not None:
        return older
    sample = sample.having(reading=None, final_reading=None)
    status = sampling.complete(sample.status, reason, message, job.end if job else None, sample.now)
    return sampling.answer(sample.request, status)
