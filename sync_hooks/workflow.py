"""The story of a Workflow: plan once, see the plan, then follow it to the end.

Order: an ended Workflow is left alone; without a plan one is made (`execution.planning_step`); a plan is followed only
once it has been observed and its hash stands in the status; then objects that exist once a run, Jobs within the window,
the result of an iteration, the next iteration, the node lists, the end. Nothing is ever detected or decided twice.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sync_hooks.api.conditions import FAILED, IN_PROGRESS, SUCCEEDED, is_true, set_exclusive
from sync_hooks.api.model import TypedLocalObjectReference
from sync_hooks.api.names import (
    failed_nodes_name,
    iteration_name,
    job_key,
    job_name,
    plan_name,
    succeeded_nodes_name,
)
from sync_hooks.api.request import CONFIG_MAP, JOB, TRAINING_RUNTIME, Child, ConfigMapChild, JobChild, Request
from sync_hooks.api.results import Waiting
from sync_hooks.api.status import read_status, write_status
from sync_hooks.api.sync import Answer, Busy, GetObject, Observed, Reads, Result, Unreadable
from sync_hooks.api.workflow import IterationSummary, PlanReference, WorkflowStatus
from sync_hooks.execution.answers import (
    UNREADABLE_RESYNC_SECONDS,
    is_current,
    keep,
    keep_live,
    own_read,
    stub,
    transitions,
)
from sync_hooks.execution.children import job, node_config_maps, result_config_map
from sync_hooks.execution.conclusion import conclude, coverage_of, unmeasured_of
from sync_hooks.execution.groups import GroupState, done, group_states, progress, to_launch
from sync_hooks.execution.planning_step import make_plan
from sync_hooks.execution.ranges import read_ranges, write_ranges
from sync_hooks.execution.result import result_of
from sync_hooks.execution.unseen import GivenUp, look_for
from sync_hooks.execution.waiting import next_look
from sync_hooks.planning.plan import PLAN_KEY, PLAN_VERSION, Plan, decode, sha256
from sync_hooks.report.distribution import results_of
from sync_hooks.report.iteration import IterationResult, read_result
from sync_hooks.report.nodes import NodeVerdicts, node_verdicts

MOST_NEW_CHILDREN = 100  # an answer is one blind spot: while its children are made, nothing else is seen
NEXT_BATCH_SECONDS = 1
ENDED = (SUCCEEDED, FAILED)


@dataclass(frozen=True, slots=True)
class Step:
    """What a sync came to: the status, new objects that should exist, and when to look again."""

    status: WorkflowStatus
    new: tuple[dict[str, Any], ...] = ()
    resync_after: float = 0


def sync(request: Request, observed: Observed, now: datetime) -> Answer:
    """Answer one sync of a Workflow."""
    status = read_status(WorkflowStatus, request.parent.status)
    if request.parent.metadata.deletion_timestamp or is_true(status.conditions or (), SUCCEEDED, FAILED):
        return keep(request)
    stored = request.of(CONFIG_MAP, ConfigMapChild).get(plan_name(request.parent.metadata.name))
    if stored is None:
        return make_plan(request, status, observed, now)
    content = stored.binary_data.get(PLAN_KEY, "")
    plan, digest = _read_plan(content)
    if plan is None:
        return _fail(request, status, "PlanLost", f"ConfigMap {stored.name} does not hold a readable plan", now)
    if plan.version != PLAN_VERSION:
        return Busy(f"the plan has version {plan.version}, this hook follows version {PLAN_VERSION}")
    if status.plan is None:
        marker = PlanReference(name=stored.name, sha256=digest, version=plan.version)
        return _answer(
            request, status, Step(status.model_copy(update={"plan": marker, "waiting": None}), resync_after=1)
        )
    if status.plan.sha256 != digest:
        return _fail(request, status, "PlanLost", f"ConfigMap {stored.name} no longer holds the plan of this run", now)
    return _follow(request, status, plan, observed, now)


@lru_cache(maxsize=64)  # the same plan comes with every sync of the Workflow
def _read_plan(content: str) -> tuple[Plan | None, str]:
    try:
        packed = base64.b64decode(content)
        return decode(packed), sha256(packed)
    except ValueError:
        return None, ""


def _follow(request: Request, status: WorkflowStatus, plan: Plan, observed: Observed, now: datetime) -> Answer:
    missing = _missing_once(request, plan)
    if missing:
        return _create(request, status, missing, status, observed, now)
    iteration = len(status.iterations or ()) + 1
    if iteration > plan.iterations:
        return _end(request, status, plan, observed, now)
    states = group_states(plan, iteration, request.of(JOB, JobChild), status)
    lost = _look_for_lost(request, plan, iteration, states, observed)
    if isinstance(lost, Reads | Result):
        return lost
    remembered = _remember(status, plan, iteration, states, lost)
    states = group_states(plan, iteration, request.of(JOB, JobChild), remembered)
    if all(done(state, plan) for state in states):
        return _close_iteration(request, remembered, iteration, states, observed, now)
    return _launch(request, remembered, plan, iteration, states, observed, now)


def _missing_once(request: Request, plan: Plan) -> tuple[dict[str, Any], ...]:
    """Objects that exist once a run and are not observed: Trainer refuses a TrainJob whose runtime is not there."""
    runtimes, config_maps = request.of(TRAINING_RUNTIME, Child), request.of(CONFIG_MAP, ConfigMapChild)
    wanted = ((plan.runtime, runtimes), *((object_, config_maps) for object_ in plan.shared))
    return tuple(object_ for object_, seen in wanted if object_ and object_["metadata"]["name"] not in seen)


def _look_for_lost(
    request: Request, plan: Plan, iteration: int, states: Sequence[GroupState], observed: Observed
) -> frozenset[int] | Reads | Result:
    """Tell Jobs that somebody deleted from Jobs that the cache does not show: only a live 404 is a deletion."""
    parent = request.parent
    names = {
        state.number: job_name(plan.prefix, state.number, iteration, state.seen) for state in states if state.missing
    }
    reads = {
        number: GetObject(parent.api_version, "Job", name, parent.metadata.namespace) for number, name in names.items()
    }
    wanted = (own_read(parent), *reads.values()) if reads else ()
    if any(read not in observed for read in wanted):
        return Reads(wanted)
    if reads and (refusal := _refuse_stale(request, observed)):
        return refusal
    return frozenset(number for number, read in reads.items() if observed[read] is None)


def _refuse_stale(request: Request, observed: Observed) -> Result | None:
    """Nothing irreversible is done on a request that is older than the API."""
    live = observed[own_read(request.parent)]
    if live is None or isinstance(live, Unreadable):
        return keep(request, UNREADABLE_RESYNC_SECONDS)
    return None if is_current(request.parent, live) else keep_live(request, live)


def _remember(
    status: WorkflowStatus, plan: Plan, iteration: int, states: Sequence[GroupState], lost: frozenset[int]
) -> WorkflowStatus:
    """Write down what has been seen: it only ever grows within an iteration."""
    launched = read_ranges(status.launched) | {state.number for state in states if state.job}
    retries = {
        **(status.retries or {}),
        **{str(state.number): state.retry for state in states if state.job and state.retry > max(state.seen, 0)},
    }
    gone = read_ranges(status.lost) | lost
    return status.model_copy(
        update={
            "launched": write_ranges(launched) or None,
            "retries": dict(sorted(retries.items(), key=lambda item: int(item[0]))) or None,
            "lost": write_ranges(gone) or None,
            "progress": progress(plan, iteration, states),
        }
    )


def _launch(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    iteration: int,
    states: Sequence[GroupState],
    observed: Observed,
    now: datetime,
) -> Answer:
    old = read_status(WorkflowStatus, request.parent.status)
    chosen = to_launch(plan, states, MOST_NEW_CHILDREN)
    if not chosen:
        return _answer(request, old, Step(_in_progress(status, _first_wait(states), now)))
    runtime = request.of(TRAINING_RUNTIME, Child).get(plan.runtime.get("metadata", {}).get("name", ""))
    jobs = tuple(job(plan, request.parent, runtime, group, iteration, retry) for group, retry in chosen)
    return _create(request, old, jobs, status, observed, now)


def _first_wait(states: Sequence[GroupState]) -> Waiting | None:
    """Show what the first waiting Job waits for; the stamp is the Job's own."""
    for state in states:
        waiting = state.job.status.waiting if state.job and not state.ended else None
        if waiting:
            return Waiting.model_validate({**waiting, "object": f"Job/{state.job.name if state.job else ''}"})
    return None


def _create(
    request: Request,
    old: WorkflowStatus,
    objects: Sequence[dict[str, Any]],
    status: WorkflowStatus,
    observed: Observed,
    now: datetime,
) -> Answer:
    """Ask for objects that are not observed, on a request that is not older than the API."""
    own = own_read(request.parent)
    if own not in observed:
        return Reads((own,))
    if refusal := _refuse_stale(request, observed):
        return refusal
    waiting = look_for(request, status.waiting, objects[0], observed, now)
    if isinstance(waiting, Reads):
        return waiting
    if isinstance(waiting, GivenUp):
        return _fail(request, status, waiting.reason, waiting.message, now)
    resync = NEXT_BATCH_SECONDS if len(objects) >= MOST_NEW_CHILDREN else next_look(waiting, now)
    return _answer(request, old, Step(_in_progress(status, waiting, now), tuple(objects), resync))


def _close_iteration(
    request: Request,
    status: WorkflowStatus,
    iteration: int,
    states: Sequence[GroupState],
    observed: Observed,
    now: datetime,
) -> Answer:
    """Write the iteration's result once; when it is observed, note it, and the next iteration begins."""
    old = read_status(WorkflowStatus, request.parent.status)
    name = iteration_name(request.parent.metadata.name, iteration)
    seen = request.of(CONFIG_MAP, ConfigMapChild).get(name)
    if seen is None:
        wanted = result_config_map(request.parent, result_of(iteration, states))
        return _create(request, old, (wanted,), status, observed, now)
    failed = sum(state.failed for state in states)
    summary = IterationSummary(iteration=iteration, succeeded=len(states) - failed, failed=failed, result=name)
    new = status.model_copy(
        update={
            "iterations": [*(status.iterations or ()), summary],
            "launched": None,
            "lost": None,
            "retries": None,
            "waiting": None,
        }
    )
    return _answer(request, old, Step(new, resync_after=NEXT_BATCH_SECONDS))


def _end(request: Request, status: WorkflowStatus, plan: Plan, observed: Observed, now: datetime) -> Answer:
    """Write the node lists once; when they are observed, the verdict of the Workflow stands."""
    results = _results(request.of(CONFIG_MAP, ConfigMapChild), request.parent.metadata.name, plan.iterations)
    if results is None:
        return _fail(request, status, "ResultLost", "the result of an iteration was deleted or changed", now)
    verdicts = node_verdicts(plan, results)
    seen = request.of(CONFIG_MAP, ConfigMapChild)
    missing = [
        wanted for wanted in node_config_maps(request.parent, verdicts) if wanted["metadata"]["name"] not in seen
    ]
    if missing:
        return _create(request, status, missing, status, observed, now)
    return _answer(request, status, Step(_ended(request, status, plan, results, verdicts, now)))


def _results(
    config_maps: Mapping[str, ConfigMapChild], workflow: str, iterations: int
) -> tuple[IterationResult, ...] | None:
    stored = [config_maps.get(iteration_name(workflow, number)) for number in range(1, iterations + 1)]
    results = tuple(read_result(config_map) for config_map in stored if config_map is not None)
    known = tuple(result for result in results if result is not None)
    return known if len(known) == iterations else None


def _ended(
    request: Request,
    status: WorkflowStatus,
    plan: Plan,
    results: Sequence[IterationResult],
    verdicts: NodeVerdicts,
    now: datetime,
) -> WorkflowStatus:
    uid, seen = request.parent.metadata.uid, request.of(CONFIG_MAP, ConfigMapChild)
    coverage = coverage_of(plan, verdicts)
    conditions = conclude(status.conditions or (), plan, results, coverage, now)
    ended = next(
        condition for condition in conditions if condition.type in (SUCCEEDED, FAILED) and condition.status == "True"
    )
    return status.model_copy(
        update={
            "conditions": list(conditions),
            "coverage": coverage,
            "results": results_of(plan, results),
            "unmeasured": unmeasured_of(results) or None,
            "succeeded_nodes_ref": _reference(succeeded_nodes_name(uid), seen),
            "failed_nodes_ref": _reference(failed_nodes_name(uid), seen),
            "waiting": None,
            "completion_time": ended.last_transition_time,
        }
    )


def _reference(name: str, seen: Mapping[str, ConfigMapChild]) -> TypedLocalObjectReference | None:
    return TypedLocalObjectReference(kind="ConfigMap", name=name) if name in seen else None


def _in_progress(status: WorkflowStatus, waiting: Waiting | None, now: datetime) -> WorkflowStatus:
    done_groups = status.progress.succeeded + status.progress.failed if status.progress else 0
    text = f"{done_groups} of {status.progress.groups} groups done" if status.progress else "planned"
    conditions = set_exclusive(status.conditions or (), IN_PROGRESS, "JobRunning", text, now)
    return status.model_copy(update={"conditions": list(conditions), "waiting": waiting})


def _fail(request: Request, status: WorkflowStatus, reason: str, message: str, now: datetime) -> Result:
    conditions = set_exclusive(status.conditions or (), FAILED, reason, message, now)
    old = read_status(WorkflowStatus, request.parent.status)
    return _answer(request, old, Step(status.model_copy(update={"conditions": list(conditions), "waiting": None})))


def _answer(request: Request, old: WorkflowStatus, step: Step) -> Result:
    """Keep every child but Jobs of iterations whose result stands in the status that the API has."""
    finished = len(old.iterations or ())
    kept = tuple(stub(child) for child in request.all_children() if not _is_over(child, finished, old))
    return Result(
        status=write_status(request.parent.status, step.status),
        children=(*kept, *step.new),
        resync_after=step.resync_after,
        events=transitions(old.conditions or (), step.status.conditions or ()),
    )


def _is_over(child: Child, finished: int, status: WorkflowStatus) -> bool:
    """Tell whether a Job belongs to an iteration before the last one and its result has been observed."""
    key = job_key(child.name) if child.kind == "Job" else None
    iterations = status.progress.iterations if status.progress else 0
    return key is not None and key.iteration <= finished and key.iteration < iterations
