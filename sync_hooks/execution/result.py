"""From the groups' last states to the iteration's result; every group has ended."""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.conditions import FAILED, HARDWARE_FAILED, VALIDATION_FAILED, find
from sync_hooks.api.request import JobChild
from sync_hooks.execution.groups import GroupState
from sync_hooks.report.iteration import GroupResult, IterationResult


def result_of(iteration: int, states: Sequence[GroupState]) -> IterationResult:
    """Write down what the groups came to; every group has ended."""
    return IterationResult(iteration, tuple(_group_result(state) for state in states))


def _group_result(state: GroupState) -> GroupResult:
    if state.lost or state.job is None:
        text = "the Job was deleted while the run was under way"
        return GroupResult(group=state.number, retry=state.retry, failure=text, failure_reason="JobDeleted")
    return _job_result(state, state.job)


def _job_result(state: GroupState, job: JobChild) -> GroupResult:
    failure, validation = _true(job, FAILED), _true(job, VALIDATION_FAILED)
    hardware = _true(job, HARDWARE_FAILED)
    cause = hardware or failure
    return GroupResult(
        group=state.number,
        retry=state.retry,
        failure=cause[1] if cause else "",
        failure_reason=cause[0] if cause else "",
        hardware=hardware is not None,
        validation=validation[1] if validation else "",
        validation_reason=validation[0] if validation else "",
        attribution=job.status.attribution,
        failed_nodes=job.status.failed_nodes,
        figures=job.status.figures,
        unmeasured=job.status.unmeasured,
        started=job.status.workload_start_time or "",
        ended=job.status.workload_end_time or "",
    )


def _true(job: JobChild, type_: str) -> tuple[str, str] | None:
    condition = find(job.status.conditions, type_)
    return (condition.reason, condition.message) if condition and condition.status == "True" else None
