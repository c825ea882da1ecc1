"""Whole objects that a Workflow asks for: plan, results and node lists as ConfigMaps, and Jobs."""

from __future__ import annotations

import base64
from typing import Any

from sync_hooks.api.names import (
    LABEL_MANAGED_BY,
    LABEL_WORKFLOW,
    MANAGED_BY,
    failed_nodes_name,
    iteration_name,
    plan_name,
    succeeded_nodes_name,
)
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import Child
from sync_hooks.execution.job_dependencies import blocking
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import PLAN_KEY, Plan, RunIdentity
from sync_hooks.planning.room import result_room
from sync_hooks.report.iteration import RESULT_KEY, IterationResult, result_payload
from sync_hooks.report.nodes import FAILED_KEY, SUCCEEDED_KEY, NodeVerdicts, failed_payload, succeeded_payload


def identity(workflow: LiveObject) -> RunIdentity:
    """Whose run it is: a Workflow has the name of its run."""
    return RunIdentity(workflow.metadata.name, workflow.metadata.namespace)


def plan_config_map(workflow: LiveObject, content: bytes) -> dict[str, Any]:
    """Store a plan."""
    return _config_map(workflow, plan_name(workflow.metadata.name), PLAN_KEY, base64.b64encode(content).decode())


def result_config_map(plan: Plan, workflow: LiveObject, result: IterationResult) -> dict[str, Any]:
    """Store an iteration's result, which comes with every later sync, as those of all iterations do."""
    name = iteration_name(workflow.metadata.name, result.iteration)
    return _config_map(workflow, name, RESULT_KEY, result_payload(result, result_room(plan, identity(workflow))))


def node_config_maps(workflow: LiveObject, verdicts: NodeVerdicts) -> tuple[dict[str, Any], ...]:
    """Store the two node lists; an empty list is not stored."""
    uid = workflow.metadata.uid
    succeeded = _config_map(workflow, succeeded_nodes_name(uid), SUCCEEDED_KEY, succeeded_payload(verdicts.succeeded))
    failed = _config_map(workflow, failed_nodes_name(uid), FAILED_KEY, failed_payload(verdicts.failed))
    return (*((succeeded,) if verdicts.succeeded else ()), *((failed,) if verdicts.failed else ()))


def job(
    plan: Plan, workflow: LiveObject, runtime: Child | None, group: int, iteration: int, retry: int
) -> dict[str, Any]:
    """Render a group's Job; it blocks the deletion of the runtime, which Trainer needs until the TrainJob is gone."""
    rendered = render_job(plan, identity(workflow), workflow.metadata.name, group, iteration, retry)
    return blocking(rendered, runtime) if runtime is not None else rendered


def _config_map(workflow: LiveObject, name: str, key: str, content: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": workflow.metadata.namespace,
            "labels": {LABEL_MANAGED_BY: MANAGED_BY, LABEL_WORKFLOW: workflow.metadata.name},
        },
        "binaryData": {key: content},
    }
