"""The end of an iteration and of the run: results written once, observed, then believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sync_hooks.api.conditions import FAILED, SUCCEEDED
from sync_hooks.api.model import TypedLocalObjectReference
from sync_hooks.api.names import failed_nodes_name, iteration_name, succeeded_nodes_name
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import CONFIG_MAP, ConfigMapChild, Request
from sync_hooks.api.results import ExcludedNode
from sync_hooks.api.sync import Answer, GetObject, Observed, Reads, Unreadable
from sync_hooks.api.workflow import IterationSummary, WorkflowStatus
from sync_hooks.execution.children import node_config_maps, result_config_map
from sync_hooks.execution.conclusion import conclude, coverage_of, left_out, remarks_of, unmeasured_of
from sync_hooks.execution.creation import create
from sync_hooks.execution.finished import finished_results
from sync_hooks.execution.groups import GroupState
from sync_hooks.execution.ownership import standing
from sync_hooks.execution.plan_seen import MOST_EXCLUDED
from sync_hooks.execution.result import result_of
from sync_hooks.execution.waiting import CHILD_GIVE_UP_SECONDS, next_look, wait_within
from sync_hooks.execution.workflow_answer import Step, answer, fail, keep_trying
from sync_hooks.planning.plan import Plan
from sync_hooks.report.distribution import results_of
from sync_hooks.report.iteration import GroupResult, IterationResult, digest, read_result
from sync_hooks.report.nodes import NodeVerdicts, node_verdicts


def close_iteration(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    iteration: int,
    states: Sequence[GroupState],
    observed: Observed,
    now: datetime,
) -> Answer | WorkflowStatus:
    """Write the iteration's result once; when it is observed, return the status that notes it: the next one begins."""
    name = iteration_name(request.parent.metadata.name, iteration)
    seen = request.of(CONFIG_MAP, ConfigMapChild).get(name)
    if seen is None:
        wanted = result_config_map(plan, request.parent, result_of(iteration, states))
        return create(request, status, (wanted,), observed, now)
    result = read_result(seen)
    if result is None or result.iteration != iteration or not _fits(result, states):
        return fail(request, status, "ResultLost", f"ConfigMap {name} does not hold the iteration's result", now)
    update = {
        "iterations": [*(status.iterations or ()), _summary(result, seen)],
        "launched": None,
        "lost": None,
        "refused": None,
        "retries": None,
        "waiting": None,
    }
    return status.model_copy(update=update)


def _fits(result: IterationResult, states: Sequence[GroupState]) -> bool:
    """Tell whether a result is of these groups, and calls none good, or measured, that its Job does not."""
    if len(result.groups) != len(states):
        return False
    pairs = zip(result.groups, states, strict=True)
    return all(state.lost or _agrees(told, state) for told, state in pairs)


def _agrees(told: GroupResult, state: GroupState) -> bool:
    bad, measured = told.failure or told.validation, state.job is None or not state.job.status.unmeasured
    return bool((bad or not state.failed) and (told.unmeasured or measured))


def _summary(result: IterationResult, stored: ConfigMapChild) -> IterationSummary:
    failed = sum(bool(group.failure or group.validation) for group in result.groups)
    return IterationSummary(
        iteration=result.iteration,
        succeeded=len(result.groups) - failed,
        failed=failed,
        result=stored.name,
        sha256=digest(stored),
        start_time=min((group.started for group in result.groups if group.started), default=None),
        completion_time=max((group.ended for group in result.groups if group.ended), default=None),
    )


def end(request: Request, status: WorkflowStatus, plan: Plan, observed: Observed, now: datetime) -> Answer:
    """Write the node lists once; when they are observed, the verdict of the Workflow stands."""
    results = finished_results(request, status.iterations or ())
    if results is None:
        return _without_results(request, status, plan.iterations, observed, now)
    verdicts = node_verdicts(plan, results)
    seen = request.of(CONFIG_MAP, ConfigMapChild)
    wanted = node_config_maps(request.parent, verdicts)
    if missing := [item for item in wanted if item["metadata"]["name"] not in seen]:
        return create(request, status, missing, observed, now)
    changed = [item["metadata"]["name"] for item in wanted if not _holds(seen, item)]
    if changed:
        return fail(request, status, "ResultLost", f"ConfigMap {changed[0]} does not hold the list of nodes", now)
    return answer(request, Step(_ended(request, status, plan, results, verdicts, now)))


def _without_results(
    request: Request, status: WorkflowStatus, iterations: int, observed: Observed, now: datetime
) -> Answer:
    """Fail where the result of an iteration is gone or changed; one that only the cache does not show is waited for."""
    seen, parent = request.of(CONFIG_MAP, ConfigMapChild), request.parent.metadata
    names = (iteration_name(parent.name, number) for number in range(1, iterations + 1))
    reads = tuple(GetObject("v1", "ConfigMap", name, parent.namespace) for name in names if name not in seen)
    if any(read not in observed for read in reads):
        return Reads(reads)
    found = [observed[read] for read in reads]
    problem = next((item.reason for item in found if isinstance(item, Unreadable)), None)
    if problem is not None:
        return keep_trying(request, status, problem, now)
    if reads and all(isinstance(item, LiveObject) and standing(item, request.parent) == "ours" for item in found):
        object_, text = f"ConfigMap/{reads[0].name}", f"ConfigMap {reads[0].name} is there and not seen yet"
        waiting = wait_within(CHILD_GIVE_UP_SECONDS, status.waiting, "ResultNotSeen", text, now, object_)
        if waiting is not None:
            new = status.model_copy(update={"waiting": waiting})
            return answer(request, Step(new, resync_after=next_look(waiting, now)))
    return fail(request, status, "ResultLost", "the result of an iteration was deleted or changed", now)


def _holds(seen: Mapping[str, ConfigMapChild], wanted: Mapping[str, object]) -> bool:
    metadata, data = wanted["metadata"], wanted["binaryData"]
    assert isinstance(metadata, dict)  # noqa: S101 - we have just made it
    return seen[metadata["name"]].binary_data == data


def _ended(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    results: Sequence[IterationResult],
    verdicts: NodeVerdicts,
    now: datetime,
) -> WorkflowStatus:
    uid, seen = request.parent.metadata.uid, request.of(CONFIG_MAP, ConfigMapChild)
    conditions = conclude(status.conditions or (), plan, results, verdicts, now)
    ended = next(
        condition for condition in conditions if condition.type in (SUCCEEDED, FAILED) and condition.status == "True"
    )
    update = {
        "conditions": list(conditions),
        "coverage": coverage_of(plan, verdicts),
        "excluded_nodes": _excluded(plan, verdicts) or None,
        "results": results_of(plan, results),
        "unmeasured": unmeasured_of(results) or None,
        "remarks": remarks_of(plan, results) or None,
        "succeeded_nodes_ref": _reference(succeeded_nodes_name(uid), seen),
        "failed_nodes_ref": _reference(failed_nodes_name(uid), seen),
        "waiting": None,
        "completion_time": ended.last_transition_time,
    }
    return status.model_copy(update=update)


def _excluded(plan: Plan, verdicts: NodeVerdicts) -> list[ExcludedNode]:
    """Name the nodes that were left out when the run was planned, and those that went while it was under way."""
    named = sorted(left_out(plan, verdicts).items())
    return [ExcludedNode(name=name, reason=reason) for name, reason in named[:MOST_EXCLUDED]]


def _reference(name: str, seen: Mapping[str, ConfigMapChild]) -> TypedLocalObjectReference | None:
    return TypedLocalObjectReference(kind="ConfigMap", name=name) if name in seen else None
