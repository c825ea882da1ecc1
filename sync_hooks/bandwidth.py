"""The story of a BandwidthMeasurement: samples while its Job runs, then the whole finished log, then never again.

Order: a complete one is left alone; nothing is read before a sample is due; Job, profile and pod are found; a running
log is read on from where the last sample ended, a finished one once more from its beginning, page by page. What that
brings is final, unless rotation took rows that were seen before: then those that were seen count.
"""

from __future__ import annotations

from datetime import datetime

from sync_hooks.api.bandwidthmeasurement import (
    BandwidthMeasurementSpec,
    BandwidthMeasurementStatus,
    BandwidthReading,
)
from sync_hooks.api.conditions import SUCCEEDED
from sync_hooks.api.logprofile import WorkerStrategy
from sync_hooks.api.observed import Log
from sync_hooks.api.request import Request
from sync_hooks.api.sync import Answer, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import rfc3339
from sync_hooks.measurements import answering, sampling
from sync_hooks.measurements.doubts import doubts
from sync_hooks.measurements.page import widen
from sync_hooks.measurements.pods import NotThere
from sync_hooks.measurements.reading import nothing_in, read_page, rotated
from sync_hooks.measurements.sample import Sample as AnySample
from sync_hooks.measurements.subject import Gone, JobState, Logs, find_job, find_logs
from sync_hooks.measurements.summary import rows_seen, shown
from sync_hooks.measurements.tally import Wanted

Sample = AnySample[BandwidthMeasurementSpec, BandwidthMeasurementStatus]

FOUND = (
    "results",
    "summary",
    "wrong_count",
    "transport",
    "socket_fallback",
    "ranks",
    "ranks_on_first_host",
    "rank_spread",
    "several_hosts",
    "ranks_apart",
    "doubts",
    "notes",
    "rows_seen",
    "start_time",
    "reading",
    "final_reading",
)
"""Fields of the status that belong to one attempt."""


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a BandwidthMeasurement."""
    sample = sampling.begin(request, BandwidthMeasurementSpec, BandwidthMeasurementStatus, observed, now)
    return _of_job(sample) if isinstance(sample, AnySample) else sample


def _of_job(sample: Sample) -> Answer:
    status = sample.status
    job = find_job(sample.namespace, sample.spec.job_ref.name, status.job_uid, sample.observed)
    if isinstance(job, Unreadable):
        return answering.wait(sample, job)
    if sampling.is_early(sample, job):
        return answering.NOT_YET
    if isinstance(job, Gone) and status.job_uid is None:
        return answering.wait(sample, NotThere("JobNotFound", job.message))
    if isinstance(job, Gone):
        return _give_up(sample, None, job.message)
    if job.workload_uid and status.workload_uid not in (None, job.workload_uid):  # another attempt starts from nothing
        sample = sample.having(**dict.fromkeys(FOUND))
    sample = sample.having(
        job_uid=job.uid,
        workload_uid=job.workload_uid or status.workload_uid,  # between attempts it is that of the one before
        end_seen_time=answering.end_seen(sample.status.end_seen_time, sample.now) if job.ended else None,
    )
    return _of_logs(sample, job)


def _of_logs(sample: Sample, job: JobState) -> Answer:
    profile = sample.spec.log_profile_ref
    logs = find_logs(sample.namespace, job, profile, "bandwidth_result", _first_pod, sample.observed)
    if isinstance(logs, Reads):
        return logs
    if not isinstance(logs, Logs):
        return _without_logs(sample, job, logs)
    if job.ended and not job.final:
        return answering.wait(sample, NotThere("AttemptFailed", "another attempt may follow"))
    pod, status = logs.sources[0].pod, sample.status
    sample = sample.having(reading=_of_pod(status.reading, pod), final_reading=_of_pod(status.final_reading, pod))
    reading = (sample.status.final_reading if job.ended else sample.status.reading) or BandwidthReading(pod=pod)
    reads = sampling.log_reads(sample.namespace, logs.sources, (reading.cursor,))
    pages = sampling.pages(reads, sample.observed)
    if isinstance(pages, Reads):
        return pages
    read_before = [known.cursor for known in (reading, sample.status.reading) if known]
    page = answering.shown_of(sample, job, pages[0], *read_before)
    if isinstance(page, Unreadable):
        return _without_logs(sample, job, page)
    return (_finish if job.ended else _read_running)(sample, job, logs, reading, page)


def _of_pod(reading: BandwidthReading | None, pod: str) -> BandwidthReading | None:
    """Keep what was read of this pod's log; a workload that was held back and let go again has other pods."""
    return reading if reading is None or reading.pod == pod else None


def _first_pod(_: WorkerStrategy) -> tuple[str, ...]:
    return ("first",)


def _read_running(sample: Sample, _: JobState, logs: Logs, reading: BandwidthReading, page: Log) -> Result:
    """Read on from the last sample; a page that was cut is followed by the next one at once."""
    reading, window = read_page(reading, page, logs.profile, _wanted(sample), ended=False, now=sample.now)
    started = sample.status.start_time or (rfc3339(sample.now) if rows_seen(reading) else None)
    sample = sample.having(**shown(reading, _wanted(sample)), reading=reading, start_time=started)
    more = page.truncated and not (window.stuck and widen(reading.cursor) is None)
    if not more:
        sample = sample.having(last_sample_time=rfc3339(sample.now))
    message = f"{rows_seen(reading)} rows read from pod {logs.sources[0].pod}"
    status = answering.measuring(sample.status, "True", answering.JOB_RUNNING, message, sample.now)
    seconds = answering.NEXT_PAGE_RESYNC_SECONDS if more else sampling.interval(sample.spec.sample_interval)
    return answering.answer(sample.request, status, seconds)


def _finish(sample: Sample, job: JobState, logs: Logs, final: BandwidthReading, page: Log) -> Answer:
    """Read the finished log from its beginning; what was read while it ran goes on too, for what rotation took."""
    narrowest = widen(final.cursor) is None
    final, window = read_page(final, page, logs.profile, _wanted(sample), ended=True, now=sample.now)
    if window.stuck and narrowest:
        return _give_up(sample, job, f"the log of pod {logs.sources[0].pod} cannot be read in pages")
    running = sample.status.reading
    if running is not None and running.cursor.last_line_time:
        running, _ = read_page(running, page, logs.profile, _wanted(sample), ended=True, now=sample.now)
    if not window.last:
        sample = sample.having(final_reading=final, reading=running)
        return answering.pend(sample, "the finished log is being read", again=answering.NEXT_PAGE_RESYNC_SECONDS)
    if running is not None and rows_seen(running) > rows_seen(final):
        note = "the beginning of the log was rotated away; rows that were read before count"
        return _complete(sample, job, running, note)
    lost = rotated(final, running, logs.sources[0].started_at)
    return _complete(sample, job, final, _of_lost(lost, rows_seen(final)) if lost else "")


def _of_lost(lost: str, rows: int) -> str:
    if rows:
        return f"the log may lack earlier tables: {lost}"
    return f"the table is no longer in the log: {lost}"


def _wanted(sample: Sample) -> Wanted:
    return Wanted(sample.spec.test_type, sample.spec.ranks)


def _without_logs(sample: Sample, job: JobState, problem: NotThere | Unreadable) -> Answer:
    """Wait while there is something to wait for, and end with a reason when there is not."""
    if not job.ended or not job.final:
        return answering.wait(sample, problem)
    message = problem.message if isinstance(problem, NotThere) else problem.reason
    if answering.is_hopeless(sample, job, problem):
        return _give_up(sample, job, message)
    return answering.pend(sample, message, again=answering.WAITING_RESYNC_SECONDS)


def _complete(sample: Sample, job: JobState, reading: BandwidthReading, note: str) -> Answer:
    """End with what the log held."""
    rows = rows_seen(reading)
    found = list(doubts(reading, _wanted(sample))) if job.phase == SUCCEEDED else []
    sample = sample.having(**shown(reading, _wanted(sample)), doubts=found or None)
    if note and rows:
        sample = sample.having(notes=[*(sample.status.notes or ()), note])
    if job.phase != SUCCEEDED:
        return _end(sample, job, answering.JOB_FAILED, f"the Job failed; {rows} rows were read")
    if not rows:
        return _end(sample, job, answering.NO_DATA, note or nothing_in(reading, _wanted(sample)))
    return _end(sample, job, answering.JOB_SUCCEEDED, f"{rows} rows of {len(reading.sizes or ())} sizes were read")


def _give_up(sample: Sample, job: JobState | None, message: str) -> Answer:
    """End without a complete read. Figures go: nothing is judged by numbers that may be incomplete."""
    notes = list(sample.status.notes or ())
    if sample.status.results:
        notes.append("the results are provisional: the finished log was not read")
    if job is not None and job.phase != SUCCEEDED:
        return _end(sample.having(notes=notes or None), job, answering.JOB_FAILED, f"the Job failed; {message}")
    return _end(sample.having(notes=notes or None, summary=None), job, answering.LOGS_UNAVAILABLE, message)


def _end(sample: Sample, job: JobState | None, reason: str, message: str) -> Result:
    return answering.end(sample.having(reading=None, final_reading=None), job, reason, message)
