"""From an attempt that has failed to the next one: who failed it, its log read, its record kept; then it may go.

In this order, because a TrainJob takes its pods and logs along, and the last look at them may be older than the last
checkpoint. Each step is bounded. Without a checkpoint the attempt has failed for good, and so it has where a node is
found to have failed. A measurement that is not there is asked for again: its creation may have been lost, and without
it no checkpoint is ever known. The records change no verdict; they make what is remarked of a group that passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from sync_hooks.api.conditions import IN_PROGRESS, SUCCEEDED, VALIDATION_FAILED, find, is_true
from sync_hooks.api.errors import cut
from sync_hooks.api.job import FailedAttempt, JobSpec, JobStatus
from sync_hooks.api.request import Request
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import Answer, Event, Observed, Reads, Result
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS, first
from sync_hooks.execution.blame import WORKLOAD_FAILED, Blame
from sync_hooks.execution.job_answer import answer, enter, fail
from sync_hooks.execution.job_evidence import Evidence, Finding, find_out, gather
from sync_hooks.execution.job_health import hardware_failed
from sync_hooks.execution.job_launch import measurements
from sync_hooks.execution.job_restart import READING, RESTARTING, goodput_of, is_saved, last_checkpoint, sample_seconds
from sync_hooks.execution.phase import PENDING
from sync_hooks.execution.ranges import write_ranges
from sync_hooks.execution.waiting import is_overdue, next_look, wait_within, waited
from sync_hooks.report.nodes import GONE

SAMPLES_TO_WAIT = 2
LEAST_PATIENCE_SECONDS = 180  # with samples every minute as long as other measurements are waited for
RECORD_GIVE_UP_SECONDS = 60  # for who failed an attempt: the next one follows all the same
MOST_RECORDS = 10
MOST_NODES = 5  # named of an attempt
MOST_MESSAGE = 300  # characters of a record
MOST_NODE_MESSAGE = 100  # characters; the record has more of it


def go_on(request: Request, spec: JobSpec, status: JobStatus, observed: Observed, now: datetime) -> Answer:
    """Find out who failed the attempt, wait for its log to have been read, then go on; or fail for good."""
    waiting = wait_within(_patience(spec), status.waiting, RESTARTING, READING, now)
    held = status.model_copy(update={"waiting": waiting})
    if _record_of(status) is None:
        evidence = gather(request, status, observed)
        if isinstance(evidence, Reads):
            return evidence
        if _may_still_be_read(evidence, held, now):
            return answer(request, held, measurements(request, spec, held), resync_after=UNREADABLE_RESYNC_SECONDS)
        finding = find_out(request, spec, status, evidence)
        if finding.broken:
            return fail(request, hardware_failed(status, finding.broken, now), WORKLOAD_FAILED, _cause(status), now)
        held = _recorded(held, finding)
    if waiting is not None and not _is_read(request, status):
        return answer(request, held, measurements(request, spec, held), resync_after=next_look(waiting, now))
    if is_saved(request):
        return _next(request, spec, held, now)
    return fail(request, _without_record(held), WORKLOAD_FAILED, _cause(status), now)


def _may_still_be_read(evidence: Evidence, status: JobStatus, now: datetime) -> bool:
    if not evidence.unreadable or status.waiting is None:
        return False
    return is_overdue(status.waiting) or waited(status.waiting, now) <= RECORD_GIVE_UP_SECONDS


def _is_read(request: Request, status: JobStatus) -> bool:
    """Tell whether the measurement has read the log of the current attempt to its end."""
    run, reference = goodput_of(request).run, status.workload_ref
    return run is not None and reference is not None and run.workload_uid == reference.uid and bool(run.finished)


def _next(request: Request, spec: JobSpec, status: JobStatus, now: datetime) -> Result:
    attempt, allowed = (status.attempt or 0) + 1, spec.checkpoint.max_restarts if spec.checkpoint else 0
    record = _record_of(status)
    failure = record.message if record else _cause(status)
    text = f"restart {attempt} of {allowed} from the checkpoint of step {last_checkpoint(request)}: {failure}"
    new = status.model_copy(
        update={
            "attempt": attempt,
            "workload_ref": None,
            "jobset_uid": None,
            "workload_phase": PENDING,
            "workload_start_time": None,
            "workload_end_time": None,
            "nodes": None,
            "waiting": None,
        }
    )
    entered = enter(new, IN_PROGRESS, RESTARTING, text, now)
    told = Event("Warning", RESTARTING, text, f"Restart{attempt}")
    return answer(request, entered, resync_after=1, events=(told,))


def _cause(status: JobStatus) -> str:
    progress = find(status.conditions or (), IN_PROGRESS)
    return progress.message if progress else ""


def _patience(spec: JobSpec) -> float:
    """Seconds in which a log is read although the cluster is out of reach for one or two of the samples."""
    return LEAST_PATIENCE_SECONDS + SAMPLES_TO_WAIT * sample_seconds(spec)


# Records


def _record_of(status: JobStatus) -> FailedAttempt | None:
    """Return the record of the current attempt."""
    return next((item for item in status.failed_attempts or () if item.attempt == (status.attempt or 0)), None)


def _recorded(status: JobStatus, finding: Finding) -> JobStatus:
    found = finding.blame
    record = FailedAttempt(
        attempt=status.attempt or 0,
        message=cut("; ".join(filter(None, (_cause(status), found.message))), MOST_MESSAGE),
        attribution=found.attribution,
        failed_nodes=_named(found) or None,
    )
    records = [*(status.failed_attempts or ()), record][-MOST_RECORDS:]
    return status.model_copy(update={"failed_attempts": records, "failure_log": finding.log})


def _named(found: Blame) -> list[FailedNode]:
    nodes = found.nodes[:MOST_NODES] if found.attribution == "Node" else ()
    return [node.model_copy(update={"message": cut(node.message, MOST_NODE_MESSAGE)}) for node in nodes]


def _without_record(status: JobStatus) -> JobStatus:
    """Leave the current attempt out: no other follows, so that the Job itself says how it failed."""
    others = [item for item in status.failed_attempts or () if item.attempt != (status.attempt or 0)]
    return status.model_copy(update={"failed_attempts": others or None})


def restart_remarks(status: JobStatus) -> tuple[str, ...]:
    """Say of a group that passed how often it was restarted, and which nodes failed it before."""
    conditions = status.conditions or ()
    if not status.attempt or not is_true(conditions, SUCCEEDED) or is_true(conditions, VALIDATION_FAILED):
        return ()
    times = "1 restart" if status.attempt == 1 else f"{status.attempt} restarts"
    blamed = first(_blamed(status.failed_attempts or ()), MOST_RECORDS)
    return ("; ".join((f"passed only after {times} from a checkpoint", *blamed)),)


def _blamed(records: Sequence[FailedAttempt]) -> Iterator[str]:
    """Go through what became of the nodes: once each, with all attempts; then through attempts that blame none."""
    told: dict[str, list[int]] = {}
    for record in records:
        for node in record.failed_nodes or ():
            text = f"node {node.name} was {node.message}" if node.reason in GONE else f"node {node.name} failed"
            told.setdefault(text, []).append(record.attempt)
        if not record.failed_nodes:
            told.setdefault("no single node is to blame", []).append(record.attempt)
    for text, attempts in told.items():
        numbers = " and ".join(write_ranges(attempts).split(","))
        yield f"{text} in attempt{'s' if len(attempts) > 1 else ''} {numbers}"
