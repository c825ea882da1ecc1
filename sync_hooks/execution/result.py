"""From the groups' last states to the iteration's result; every group has ended."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sync_hooks.api.conditions import FAILED, HARDWARE_FAILED, VALIDATION_FAILED, find
from sync_hooks.api.request import FailedNodeFacts, JobChild
from sync_hooks.execution.groups import LAUNCHING_STOPPED, GroupState
from sync_hooks.report.iteration import GroupResult, IterationResult
from sync_hooks.report.nodes import GONE


def result_of(iteration: int, states: Sequence[GroupState]) -> IterationResult:
    """Write down what the groups came to; every group has ended."""
    return IterationResult(iteration, tuple(_group_result(state) for state in states))


def _group_result(state: GroupState) -> GroupResult:
    last, earlier = _last_try(state), _blamed_before(state)
    if earlier:
        return msgspec.structs.replace(last, earlier=earlier)
    return _not_tried_again(last, state.earlier[-1]) if last.failure_reason in GONE and state.earlier else last


def _not_tried_again(last: GroupResult, before: JobChild) -> GroupResult:
    """Keep the failure of a try that blamed nobody, where the nodes went before another one could show anything."""
    cause = find(before.status.conditions, FAILED)
    text, reason = (cause.message or cause.reason, cause.reason) if cause else ("failed", FAILED)
    return msgspec.structs.replace(last, failure=f"{text}; tried again: {last.failure}", failure_reason=reason)


def _blamed_before(state: GroupState) -> tuple[FailedNodeFacts, ...]:
    """Name the nodes that tries before the last one blamed by name, each with the last word on it."""
    tries = (*state.earlier, state.job) if state.lost and state.job else state.earlier
    if not tries:
        return ()
    named = (node for job in tries if job.status.attribution == "Node" for node in job.status.failed_nodes)
    return tuple({node.name: node for node in named}.values())


def _last_try(state: GroupState) -> GroupResult:
    if state.lost:
        return _without_job(state, "JobDeleted", "the Job was deleted while the run was under way")
    if state.job is None:
        stopped = state.refused.startswith(LAUNCHING_STOPPED)
        return _without_job(state, "JobCreationError" if stopped else "JobNameCollision", state.refused)
    return _job_result(state, state.job)


def _without_job(state: GroupState, reason: str, text: str) -> GroupResult:
    return GroupResult(group=state.number, retry=state.retry, failure=text, failure_reason=reason, attribution="None")


def _job_result(state: GroupState, job: JobChild) -> GroupResult:
    true = {condition.type: condition for condition in job.status.conditions if condition.status == "True"}
    validation, hardware = true.get(VALIDATION_FAILED), true.get(HARDWARE_FAILED)
    cause = hardware or true.get(FAILED)
    return GroupResult(
        group=state.number,
        retry=state.retry,
        failure=(cause.message or cause.reason) if cause else "",
        failure_reason=(went(job) or cause.reason) if cause else "",
        hardware=hardware is not None,
        validation=(validation.message or validation.reason) if validation else "",
        validation_reason=validation.reason if validation else "",
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
