"""From the groups' last states to the iteration's result; every group has ended."""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.conditions import FAILED, HARDWARE_FAILED, VALIDATION_FAILED, find
from sync_hooks.api.request import JobChild
from sync_hooks.execution.groups import LAUNCHING_STOPPED, GroupState
from sync_hooks.report.iteration import GroupResult, IterationResult
from sync_hooks.report.nodes import GONE


def result_of(iteration: int, states: Sequence[GroupState]) -> IterationResult:
    """Write down what the groups came to; every group has ended."""
    return IterationResult(iteration, tuple(_group_result(state) for state in states))


def _group_result(state: GroupState) -> GroupResult:
    if state.lost:
        return _without_job(state, "JobDeleted", "the Job was deleted while the run was under way")
    if state.job is None:
        stopped = state.refused.startswith(LAUNCHING_STOPPED)
        return _without_job(state, "JobCreationError" if stopped else "JobNameCollision", state.refused)
    return _job_result(state, state.job)


def _without_job(state: GroupState, reason: str, text: str) -> GroupResult:
    return GroupResult(group=state.number, retry=state.retry, failure=text, failure_reason=reason, attribution="None")


def _job_result(state: GroupState, job: JobChild) -> GroupResult:
    failure, validation = _true(job, FAILED), _true(job, VALIDATION_FAILED)
    hardware = _true(job, HARDWARE_FAILED)
    cause = hardware or failure
    return GroupResult(
        group=state.number,
        retry=state.retry,
        failure=cause[1] if cause else "",
        failure_reason=(went(job) or cause[0]) if cause else "",
        hardware=hardware is not None,
        validation=validation[1] if validation else "",
        validation_reason=validation[0] if validation else "",
        attribution=job.status.attribution,
        failed_nodes=job.status.failed_nodes,
        nodes=job.status.nodes,
        figures=job.status.figures,
        unmeasured=job.status.unmeasured,
        remarks=job.status.remarks,
        started=job.status.workload_start_time or "",
        ended=job.status.workload_end_time or "",
    )


def went(job: JobChild) -> str:
    """Return why a Job's nodes went, where that alone ended it; empty for any other failure."""
    reasons = [node.reason for node in job.status.failed_nodes]
    return reasons[0] if reasons and GONE.issuperset(reasons) else ""


def _true(job: JobChild, type_: str) -> tuple[str, str] | None:
    condition = find(job.status.conditions, type_)
    return (condition.reason, condition.message) if condition and condition.status == "True" else None
