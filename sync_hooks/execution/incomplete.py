"""Groups whose workers were never all there: who failed while waiting for another one has not failed by itself.

The Job controller deletes pods that have not started when another one fails, so that the last look before the end
counts. A wait of less than a minute says nothing: all may have started since.
"""

from __future__ import annotations

from sync_hooks.api.job import JobStatus
from sync_hooks.api.request import Request
from sync_hooks.api.status import read_status
from sync_hooks.api.time import parse_rfc3339, seconds_between
from sync_hooks.execution.phase import HELD_UP, STARTING, UNSCHEDULABLE

LONG_ENOUGH_SECONDS = 60  # as long as the longest time between two looks


def lacking(request: Request, status: JobStatus) -> str:
    """Say which workers were still waited for when the workload of ``status`` ended, empty where none were."""
    waiting = read_status(JobStatus, request.parent.status).waiting
    if waiting is None or waiting.reason not in (STARTING, UNSCHEDULABLE, HELD_UP):
        return ""
    end = parse_rfc3339(status.workload_end_time or "")
    return waiting.message if end and (seconds_between(waiting.since, end) or 0.0) >= LONG_ENOUGH_SECONDS else ""
