"""The groups of a run as people look at them: state and why, figures, logs; from Jobs, else from stored results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cli.run_facts import BandwidthReport, FailureLogFacts, GoodputReport, JobObject
from cli.run_objects import RunObjects
from sync_hooks.api.names import ANNOTATION_GROUP_NODES, JobKey, bandwidth_name, goodput_name, job_key, job_name
from sync_hooks.api.request import WaitingFacts
from sync_hooks.planning.plan import Plan
from sync_hooks.report.distribution import SMALLER_IS_BETTER
from sync_hooks.report.iteration import GroupResult

FAILED, VALIDATION_FAILED, SUCCEEDED = "Failed", "ValidationFailed", "Succeeded"
PENDING, RUNNING = "Pending", "Running"
ENDED = (FAILED, VALIDATION_FAILED, SUCCEEDED)
ORDER = {FAILED: 0, VALIDATION_FAILED: 1, PENDING: 2, RUNNING: 3, SUCCEEDED: 4}
"""States, the worst first."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group in one iteration, or one retry of it."""

    key: JobKey
    nodes: tuple[str, ...]
    domains: tuple[str, ...]
    job: str
    train_job: str
    state: str
    reason: str
    detail: str
    """Why it is in this state, in one sentence; empty where there is nothing to say."""
    figures: Mapping[str, float]
    started: str
    ended: str
    blamed: tuple[str, ...]
    """Nodes that are blamed by name."""
    unmeasured: tuple[str, ...]
    log: FailureLogFacts | None
    bandwidth: BandwidthReport | None
    goodput: GoodputReport | None
    superseded: bool = False
    """A later retry counts instead."""

    @property
    def label(self) -> str:
        """Name the group as people say it."""
        retry = f", retry {self.key.retry}" if self.key.retry else ""
        return f"group {self.key.group}{retry}"


def worst_first(groups: Iterable[GroupView], figure: str) -> list[GroupView]:
    """Sort groups: failed ones, then by the figure, the worst first, then by number; superseded ones at the end."""
    sign = -1 if figure in SMALLER_IS_BETTER else 1

    def place(group: GroupView) -> tuple[bool, int, bool, float, JobKey]:
        value = group.figures.get(figure)
        return (group.superseded, ORDER.get(group.state, 2), value is None, sign * (value or 0.0), group.key)

    return sorted(groups, key=place)


def group_views(found: RunObjects) -> tuple[GroupView, ...]:
    """Show each Job; else what its iteration's result says of it; else that it has not been launched."""
    jobs = {key: job for job in found.jobs if (key := job_key(job.metadata.name)) is not None}
    results = {
        JobKey(result.iteration, outcome.group, outcome.retry): outcome
        for result in found.results
        for outcome in result.groups
    }
    bandwidth = {item.metadata.name: item.status for item in found.bandwidth}
    goodput = {item.metadata.name: item.status for item in found.goodput}
    newest = _newest([*jobs, *results])
    shown: list[GroupView] = []
    for key in sorted({*jobs, *results, *_planned(found, newest)}):
        name = jobs[key].metadata.name if key in jobs else _job_name(found.plan, key)
        measured = (bandwidth.get(bandwidth_name(name)), goodput.get(goodput_name(name)))
        superseded = key.retry < newest.get((key.iteration, key.group), 0)
        shown.append(_group(key, name, found.plan, jobs.get(key), results.get(key), measured, superseded=superseded))
    return tuple(shown)


def _newest(keys: Iterable[JobKey]) -> dict[tuple[int, int], int]:
    newest: dict[tuple[int, int], int] = {}
    for key in keys:
        place = (key.iteration, key.group)
        newest[place] = max(key.retry, newest.get(place, 0))
    return newest


def _planned(found: RunObjects, known: Mapping[tuple[int, int], int]) -> list[JobKey]:
    """List the groups of the current iteration that nobody has seen yet; none of a run that has ended."""
    iteration = int((found.status.get("progress") or {}).get("iteration", 0))
    if found.plan is None or not iteration or found.status.get("verdict"):
        return []
    numbers = range(len(found.plan.groups))
    return [JobKey(iteration, number) for number in numbers if (iteration, number) not in known]


def _job_name(plan: Plan | None, key: JobKey) -> str:
    return job_name(plan.prefix, key.group, key.iteration, key.retry) if plan else ""


Measured = tuple[BandwidthReport | None, GoodputReport | None]


def _group(
    key: JobKey,
    name: str,
    plan: Plan | None,
    job: JobObject | None,
    result: GroupResult | None,
    measured: Measured,
    *,
    superseded: bool,
) -> GroupView:
    planned = plan.groups[key.group] if plan is not None and key.group < len(plan.groups) else None
    state, reason, detail = _state_of_job(job) if job else _state_of_result(result)
    seen = job.status if job else result
    return GroupView(
        key=key,
        nodes=(planned.nodes if planned else ()) or (seen.nodes if seen else ()) or _annotated_nodes(job),
        domains=planned.domains if planned else (),
        job=name,
        train_job=job.status.workload_ref.name if job else "",
        state=state,
        reason=reason,
        detail=detail,
        figures=seen.figures if seen else {},
        started=_times(job, result)[0],
        ended=_times(job, result)[1],
        blamed=tuple(node.name for node in seen.failed_nodes) if seen else (),
        unmeasured=seen.unmeasured if seen else (),
        log=job.status.failure_log if job else None,
        bandwidth=measured[0],
        goodput=measured[1],
        superseded=superseded,
    )


def _annotated_nodes(job: JobObject | None) -> tuple[str, ...]:
    text = ((job.metadata.annotations if job else None) or {}).get(ANNOTATION_GROUP_NODES, "")
    return tuple(text.split(",")) if text else ()


def _times(job: JobObject | None, result: GroupResult | None) -> tuple[str, str]:
    if job is not None:
        return job.status.workload_start_time or "", job.status.workload_end_time or ""
    return (result.started, result.ended) if result else ("", "")


def _state_of_job(job: JobObject) -> tuple[str, str, str]:
    """Return what a person wants to know of a Job's conditions: the worst of them, with its reason and message."""
    true = {item.type: item for item in job.status.conditions if item.status == "True"}
    for type_ in ENDED:
        if type_ in true:
            cause = true.get("HardwareFailed", true[type_]) if type_ == FAILED else true[type_]
            return type_, cause.reason, cause.message if type_ != SUCCEEDED else ""
    waiting = job.status.waiting or WaitingFacts()
    message = waiting.message or (true["InProgress"].message if "InProgress" in true else "")
    return job.status.workload_phase or PENDING, waiting.reason, message


def _state_of_result(result: GroupResult | None) -> tuple[str, str, str]:
    if result is None:
        return PENDING, "NotLaunched", "not launched yet"
    if result.failure:
        return FAILED, result.failure_reason, result.failure
    if result.validation:
        return VALIDATION_FAILED, result.validation_reason, result.validation
    return SUCCEEDED, "", ""
