"""The story of a GoodputMeasurement: logs read on from sample to sample, attempt by attempt, to the end of the Job.

Order: a complete one is left alone; nothing is read before a sample is due; Job, profile and pods are found; the logs
of the current attempt are read on, to their end once it has ended. What an attempt showed is summed up when it is over,
so that nothing has to be reset; when no other can follow, the sums are final.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sync_hooks.api.conditions import FAILED, SUCCEEDED
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec, GoodputMeasurementStatus
from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.logprofile import WorkerStrategy
from sync_hooks.api.observed import Log
from sync_hooks.api.request import Request
from sync_hooks.api.sync import Answer, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import parse_rfc3339, rfc3339
from sync_hooks.measurements import answering, sampling
from sync_hooks.measurements.attempts import (
    FIGURES,
    Attempts,
    cursor_of,
    doubts,
    finish,
    note_beginning,
    notes,
    of_pods,
    on_attempt,
    read_pages,
    see_step,
    shown,
    without_steps,
)
from sync_hooks.measurements.clock import parse_micro
from sync_hooks.measurements.page import Window, widen
from sync_hooks.measurements.pods import NotThere, Source
from sync_hooks.measurements.sample import Sample as AnySample
from sync_hooks.measurements.subject import Gone, JobState, Logs, find_job, find_logs

Sample = AnySample[GoodputMeasurementSpec, GoodputMeasurementStatus]
Pages = tuple[tuple[Source, Log], ...]
"""Pages of logs."""

OF_ATTEMPT = ("last_step_timestamp", "application_start_time", "application_stop_time")
"""Fields of the status that belong to one attempt."""


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a GoodputMeasurement."""
    sample = sampling.begin(request, GoodputMeasurementSpec, GoodputMeasurementStatus, observed, now)
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
    seen = answering.end_seen(status.end_seen_time, sample.now) if job.ended else None
    sample = _on_attempt(sample, job.workload_uid).having(job_uid=job.uid, end_seen_time=seen)
    run = sample.status.run
    if run is not None and run.finished and job.ended:
        return _conclude(sample, job)
    return _of_logs(sample, job)


def _on_attempt(sample: Sample, workload_uid: str, restart: int = 0) -> Sample:
    """Turn to the Job's current attempt; one that is new sums up the one before, whose last step is no sign of life."""
    attempts = _attempts(sample)
    if workload_uid:
        attempts = on_attempt(attempts, workload_uid, restart)
    if attempts.run != sample.status.run:
        sample = sample.having(**dict.fromkeys(OF_ATTEMPT))
    return _having(sample, attempts).having(workload_uid=workload_uid or None)


def _having(sample: Sample, attempts: Attempts) -> Sample:
    earlier = attempts.earlier if attempts.earlier != EarlierRuns() else None
    return sample.having(run=attempts.run, earlier=earlier)


def _of_pods(sample: Sample, sources: Sequence[Source]) -> Sample:
    """Turn to the pods whose logs are read; where they are others, what was shown of the former ones goes."""
    attempts = _attempts(sample)
    current = of_pods(attempts, sources)
    if attempts.run is not None and attempts.run.pods and current.run != attempts.run:
        sample = sample.having(**dict.fromkeys((*OF_ATTEMPT, *FIGURES)))
    return _having(sample, current)


def _of_logs(sample: Sample, job: JobState) -> Answer:
    profile = sample.spec.log_profile_ref
    logs = find_logs(sample.namespace, job, profile, "training_step", _ends, sample.observed)
    if isinstance(logs, Reads):
        return logs
    if not isinstance(logs, Logs):
        return _without_logs(sample, job, logs)
    sample = _of_pods(_on_attempt(sample, job.workload_uid, logs.sources[0].restart), logs.sources)
    cursors = [cursor_of(sample.status.run, source.places) for source in logs.sources]
    found = sampling.pages(sampling.log_reads(sample.namespace, logs.sources, cursors), sample.observed)
    if isinstance(found, Reads):
        return found
    read_on = zip(found, cursors, strict=True)
    found = tuple(answering.shown_of(sample, job, page, cursor) for page, cursor in read_on)
    pairs = tuple(zip(logs.sources, found, strict=True))
    pages = tuple((source, page) for source, page in pairs if isinstance(page, Log))
    problem = next((page for page in found if isinstance(page, Unreadable)), None)
    if problem is None:
        return _read(sample, job, logs, pages)
    return _without_logs(_read_part(sample, job, logs, pages) if job.phase == FAILED else sample, job, problem)


def _read_part(sample: Sample, job: JobState, logs: Logs, pages: Pages) -> Sample:
    """Read what can be read of an attempt that failed: a checkpoint counts, whatever of its steps is out of reach."""
    sample, _ = _read_on(sample, job, logs, pages)
    return _shown(sample, job.end or sample.now, failed=True)


def _read_on(sample: Sample, job: JobState, logs: Logs, pages: Pages) -> tuple[Sample, tuple[Window, ...]]:
    """Move the current attempt on by these pages."""
    before = sample.status.run
    run = before or GoodputRun(workload_uid=job.workload_uid)
    found = tuple((source.places, page) for source, page in pages)
    earlier, run, windows = read_pages(
        _attempts(sample).earlier, run, found, logs.profile, ended=job.ended, now=sample.now
    )
    for source, _ in pages:
        run = note_beginning(before, run, source, sample.now)
    kept = earlier if earlier != EarlierRuns() else None
    return sample.having(run=run, earlier=kept, log_interval=logs.profile.log_interval), windows


def _attempts(sample: Sample) -> Attempts:
    return Attempts(sample.status.run, sample.status.earlier or EarlierRuns())


def _ends(strategy: WorkerStrategy) -> tuple[str, ...]:
    """Return where the lifecycle is printed, and where the steps are."""
    if strategy.type == "Single":
        return ("first", "first")
    return (strategy.lifecycle_pod or "first", strategy.training_step_pod or "first")


def _read(sample: Sample, job: JobState, logs: Logs, pages: Pages) -> Answer:
    """Read on from the last sample, and to the end once there is one."""
    before = sample.status.run
    positions = [cursor_of(before, source.places) for source, _ in pages]
    sample, windows = _read_on(sample, job, logs, pages)
    run = sample.status.run
    assert run is not None  # noqa: S101 - it has just been read
    pairs = zip(windows, positions, strict=True)
    hopeless = any(window.stuck and widen(position) is None for window, position in pairs)
    if not job.ended:
        sample = sample.having(run=see_step(before, run, sample.now))
        more = any(page.truncated for _, page in pages) and not hopeless
        return _go_on(_shown(sample, sample.now, failed=False), logs, more=more)
    if hopeless:
        return _give_up(sample, job, "the logs cannot be read in pages")
    if all(window.last for window in windows):
        return _conclude(sample.having(run=finish(run, _end_of(logs, job))), job)
    return answering.pend(sample, "the finished logs are being read", again=answering.NEXT_PAGE_RESYNC_SECONDS)


def _end_of(logs: Logs, job: JobState) -> datetime | None:
    """Return when the containers ended, by the clocks that their lines bear too; the Job's end is by another."""
    ends = [parse_rfc3339(source.ended_at or "") for source in logs.sources]
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else job.end


def _go_on(sample: Sample, logs: Logs, *, more: bool) -> Result:
    """Answer while the workload runs; a page that was cut is followed by the next one at once."""
    sample = sample.having(start_time=sample.status.start_time or rfc3339(sample.now))
    if not more:
        sample = sample.having(last_sample_time=rfc3339(sample.now))
    message = f"reading {' and '.join(source.pod for source in logs.sources)}"
    status = answering.measuring(sample.status, "True", answering.JOB_RUNNING, message, sample.now)
    seconds = answering.NEXT_PAGE_RESYNC_SECONDS if more else sampling.interval(sample.spec.sample_interval)
    return answering.answer(sample.request, status, seconds)


def _shown(sample: Sample, until: datetime, *, failed: bool) -> Sample:
    return sample.having(**shown(_attempts(sample), until, failed=failed))


def _without_logs(sample: Sample, job: JobState, problem: NotThere | Unreadable) -> Answer:
    """Wait while there is something to wait for, and end with a reason when there is not."""
    if not job.ended:
        return answering.wait(sample, problem)
    message = problem.message if isinstance(problem, NotThere) else problem.reason
    if not answering.is_hopeless(sample, job, problem):
        return answering.pend(sample, message, again=answering.WAITING_RESYNC_SECONDS)
    if job.phase == SUCCEEDED:
        return _give_up(sample, job, message)
    run = sample.status.run
    return _conclude(sample.having(run=finish(run, job.end) if run else None), job)


def _conclude(sample: Sample, job: JobState) -> Answer:
    """Sum up an attempt that is over; end unless another may follow."""
    failed, run = job.phase != SUCCEEDED, sample.status.run
    ended = parse_micro(run.end_time) if run and job.final else None  # what follows is no waiting for another attempt
    sample = _shown(sample, ended or job.end or sample.now, failed=failed)
    if not job.final:  # the last step is no sign of life of the attempt that may follow
        waiting = sample.having(last_step_timestamp=None, application_start_time=None)
        return answering.wait(waiting, NotThere("AttemptFailed", "another attempt may follow"))
    steps = sample.status.highest_step
    if failed:
        seen = "no training step was seen" if steps is None else f"training had reached step {steps}"
        return _end(sample, job, answering.JOB_FAILED, f"the Job failed; {seen}")
    if steps is None:
        nothing = without_steps(_attempts(sample), sample.status.log_interval or 1)
        return _end(sample, job, answering.NO_DATA, nothing)
    sample = sample.having(doubts=list(doubts(_attempts(sample))) or None, notes=list(notes(_attempts(sample))) or None)
    return _end(sample, job, answering.JOB_SUCCEEDED, f"training reached step {steps}")


def _give_up(sample: Sample, job: JobState | None, message: str) -> Answer:
    """End without the last lines. Figures go: nothing is judged by numbers that may be incomplete."""
    sample = sample.having(result=None, avg_step_time_sec=None, avg_tflops_per_gpu=None)
    return _end(sample, job, answering.LOGS_UNAVAILABLE, message)


def _end(sample: Sample, job: JobState | None, reason: str, message: str) -> Result:
    return answering.end(sample.having(run=None, earlier=None), job, reason, message)
