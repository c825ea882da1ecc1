"""The story of a WorkloadRun: make its Workflow once, then show what the Workflow says, and in the end the verdict.

Order: a run that has ended is left alone; a Workflow that is seen is mirrored; else one is made, after a live read that
finds no Workflow of that name. Nothing is resolved here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sync_hooks.admission.admit import admit
from sync_hooks.api.conditions import (
    FAILED,
    IN_PROGRESS,
    INVALID_SPEC,
    SUCCEEDED,
    VALIDATION_FAILED,
    find,
    is_true,
    set_condition,
    set_exclusive,
)
from sync_hooks.api.model import API_VERSION, Condition
from sync_hooks.api.names import ANNOTATION_RETENTION, LABEL_MANAGED_BY, LABEL_WORKLOAD_RUN, MANAGED_BY
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import WORKFLOW, Request, WorkflowChild
from sync_hooks.api.results import Waiting
from sync_hooks.api.spec import UNKNOWN_FIELDS, read_spec
from sync_hooks.api.status import read_status, write_status
from sync_hooks.api.sync import Answer, Busy, GetObject, Observed, Reads, Result, Unreadable
from sync_hooks.api.time import rfc3339
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.api.workloadrun import WorkflowReference, WorkloadRunSpec, WorkloadRunStatus
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS, first, keep, stubs, transitions
from sync_hooks.execution.ownership import standing, taken, what_goes
from sync_hooks.execution.unseen import GivenUp, look_again, look_for
from sync_hooks.execution.waiting import CHILD_GIVE_UP_SECONDS, next_look, unread, wait, wait_within
from sync_hooks.execution.workflow_answer import nothing_known
from sync_hooks.report.verdict import MOST_REASONS, judge

MIRRORED = (
    "detected_platform",
    "detected_gpu_architecture",
    "resolved_gpus_per_node",
    "succeeded_nodes_ref",
    "failed_nodes_ref",
    "coverage",
    "excluded_nodes",
    "progress",
    "results",
    "applied_overrides",
    "warnings",
    "waiting",
    "completion_time",
)


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a WorkloadRun."""
    status = read_status(WorkloadRunStatus, request.parent.status)
    if request.parent.metadata.deletion_timestamp or is_true(status.conditions or (), SUCCEEDED, FAILED):
        return keep(request)
    workflow = request.of(WORKFLOW, WorkflowChild).get(request.parent.metadata.name)
    if workflow is not None:
        return _mirror(request, status, read_status(WorkflowStatus, workflow.status), now)
    return _launch(request, status, observed, now)


def _mirror(request: Request, status: WorkloadRunStatus, workflow: WorkflowStatus, now: datetime) -> Result:
    verdict = judge(workflow)
    mirrored = {name: getattr(workflow, name) for name in MIRRORED}
    new = status.model_copy(
        update={
            **mirrored,
            "workflow_ref": WorkflowReference(
                name=request.parent.metadata.name, namespace=request.parent.metadata.namespace
            ),
            "conditions": list(_mirrored_conditions(status.conditions or [], workflow, now)),
            "verdict": verdict.verdict if verdict else None,
            "verdict_reasons": first(verdict.reasons, MOST_REASONS) or None if verdict else None,
        }
    )
    return _answer(request, status, new)


def _mirrored_conditions(old: list[Condition], workflow: WorkflowStatus, now: datetime) -> tuple[Condition, ...]:
    conditions = workflow.conditions or []
    result: tuple[Condition, ...] = tuple(old)
    failed, succeeded = find(conditions, FAILED), find(conditions, SUCCEEDED)
    if failed and failed.status == "True":
        result = set_exclusive(result, FAILED, "WorkflowFailed", f"{failed.reason}: {failed.message}", now)
    elif succeeded and succeeded.status == "True":
        reason = succeeded.reason if succeeded.reason == "PartialCoverage" else "WorkflowSucceeded"
        result = set_exclusive(result, SUCCEEDED, reason, succeeded.message, now)
    else:
        result = set_exclusive(result, IN_PROGRESS, "WorkflowCreated", _progress_message(workflow), now)
    validation = find(conditions, VALIDATION_FAILED)
    if validation is not None:
        result = set_condition(result, VALIDATION_FAILED, validation.status, validation.reason, validation.message, now)
    return result


def _progress_message(workflow: WorkflowStatus) -> str:
    waiting = f"; {workflow.waiting.message}" if workflow.waiting else ""
    progress = workflow.progress
    if progress is None:
        return f"the Workflow is being planned{waiting}"
    done = progress.succeeded + progress.failed
    return (
        f"iteration {progress.iteration} of {progress.iterations}: {done} of {progress.groups} groups done, "
        f"{progress.running} running, {progress.pending} pending{waiting}"
    )


def _launch(request: Request, status: WorkloadRunStatus, observed: Observed, now: datetime) -> Answer:
    parent = request.parent
    spec = read_spec(WorkloadRunSpec, parent.spec)
    if isinstance(spec, Busy):
        late = wait_within(CHILD_GIVE_UP_SECONDS, status.waiting, UNKNOWN_FIELDS, spec.reason, now)
        if late is not None:
            return _answer(request, status, _in_progress(status, late, now), (), next_look(late, now))
    manifest = {"apiVersion": API_VERSION, "kind": "WorkloadRun", "metadata": _metadata(parent), "spec": parent.spec}
    admitted = admit(manifest)
    if admitted.errors:
        errors = "; ".join(f"{error.field}: {error.message}" for error in admitted.errors)
        return _fail(request, status, INVALID_SPEC, errors, now)
    other = GetObject(API_VERSION, "Workflow", parent.metadata.name, parent.metadata.namespace)
    if other not in observed:
        return Reads((other,))
    workflow = observed[other]
    if isinstance(workflow, Unreadable):
        waiting = unread(status.waiting, workflow.reason, now)
        return _answer(request, status, _in_progress(status, waiting, now), (), UNREADABLE_RESYNC_SECONDS)
    if workflow is None and status.workflow_ref is not None:
        return _fail(request, status, "WorkflowDeleted", "the Workflow was deleted while the run was under way", now)
    if workflow is None:
        return _create(request, status, admitted.object["spec"], observed, now)
    return _await(request, status, workflow, now)


def _create(
    request: Request, status: WorkloadRunStatus, spec: dict[str, Any], observed: Observed, now: datetime
) -> Answer:
    workflow = _workflow(request.parent, spec)
    waiting = look_for(request, status.waiting, workflow, observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return _fail(request, status, waiting.reason, waiting.message, now)
    return _answer(request, status, _in_progress(status, waiting, now), (workflow,), look_again(waiting, now))


def _await(request: Request, status: WorkloadRunStatus, workflow: LiveObject, now: datetime) -> Result:
    """Wait for our own Workflow to be visible, or for an earlier one to go; anything else is a collision."""
    name = workflow.metadata.name
    whose = standing(workflow, request.parent)
    if whose == "foreign":
        return _fail(request, status, "WorkflowNameCollision", taken(workflow), now)
    if whose == "ours":
        waiting = wait(status.waiting, "WorkflowNotSeen", "the Workflow is not visible yet", now, f"Workflow/{name}")
        return _answer(request, status, _in_progress(status, waiting, now), (), next_look(waiting, now))
    text = what_goes(workflow)
    late = wait_within(CHILD_GIVE_UP_SECONDS, status.waiting, "WorkflowTerminating", text, now, f"Workflow/{name}")
    if late is None:
        return _fail(request, status, "WorkflowNameCollision", f"{text}: it does not go", now)
    return _answer(request, status, _in_progress(status, late, now), (), next_look(late, now))


def _workflow(parent: LiveObject, spec: dict[str, Any]) -> dict[str, Any]:
    name = parent.metadata.name
    retention = (parent.metadata.annotations or {}).get(ANNOTATION_RETENTION)
    return {
        "apiVersion": API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "name": name,
            "namespace": parent.metadata.namespace,
            "labels": {LABEL_MANAGED_BY: MANAGED_BY, LABEL_WORKLOAD_RUN: name},
            **({"annotations": {ANNOTATION_RETENTION: retention}} if retention else {}),
        },
        "spec": spec,
    }


def _metadata(parent: LiveObject) -> dict[str, Any]:
    return {"name": parent.metadata.name, "namespace": parent.metadata.namespace}


def _in_progress(status: WorkloadRunStatus, waiting: Waiting, now: datetime) -> WorkloadRunStatus:
    conditions = set_exclusive(status.conditions or [], IN_PROGRESS, "Creating", waiting.message, now)
    return status.model_copy(update={"conditions": list(conditions), "waiting": waiting})


def _fail(request: Request, status: WorkloadRunStatus, reason: str, message: str, now: datetime) -> Result:
    conditions = set_exclusive(status.conditions or [], FAILED, reason, message, now)
    update = {
        "conditions": list(conditions),
        "verdict": "Failed",
        "verdict_reasons": [f"{reason}: {message}"],
        "coverage": nothing_known(status.coverage),
        "waiting": None,
        "completion_time": rfc3339(now),
    }
    return _answer(request, status, status.model_copy(update=update))


def _answer(
    request: Request,
    old: WorkloadRunStatus,
    new: WorkloadRunStatus,
    children: tuple[dict[str, Any], ...] = (),
    resync_after: float = 0,
) -> Result:
    return Result(
        status=write_status(request.parent.status, new),
        children=(*stubs(request), *children),
        resync_after=resync_after,
        events=transitions(old.conditions or [], new.conditions or []),
    )
