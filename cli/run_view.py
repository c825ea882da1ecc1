"""A run as people look at it: facts gathered from its objects, the same for a simulated and for a real run.

Gathers and sorts; how it is shown is the report's business.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sync_hooks.api.names import job_key, plan_name
from sync_hooks.planning.plan import PLAN_KEY, Plan, decode

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group in one iteration."""

    iteration: int
    group: int
    retry: int
    nodes: tuple[str, ...]
    job: str
    train_job: str
    state: str
    detail: str
    figures: Mapping[str, float]
    started: str
    ended: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run and its groups, sorted by iteration, group and retry."""

    name: str
    namespace: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    groups: tuple[GroupView, ...]


def view(run: Object, objects: Iterable[Object]) -> RunView:
    """Gather a run from itself and the objects of its namespace; objects of other runs are passed over."""
    name, namespace = run["metadata"]["name"], run["metadata"].get("namespace", "default")
    own = [item for item in objects if item["metadata"].get("namespace") == namespace]
    plan = _plan(own, name)
    jobs = [item for item in own if _is_job_of(item, name)]
    groups = [_group(job, plan) for job in jobs if job_key(job["metadata"]["name"])]
    return RunView(
        name=name,
        namespace=namespace,
        spec=run.get("spec") or {},
        status=run.get("status") or {},
        groups=tuple(sorted(groups, key=lambda group: (group.iteration, group.group, group.retry))),
    )


def _is_job_of(item: Object, run: str) -> bool:
    labels = item["metadata"].get("labels") or {}
    ours = str(item.get("apiVersion", "")).startswith("cre.nvidia.com/")
    return ours and item["kind"] == "Job" and labels.get("cre.nvidia.com/workload-run") == run


def _plan(objects: Iterable[Object], run: str) -> Plan | None:
    for item in objects:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == plan_name(run):
            try:
                return decode(base64.b64decode(item.get("binaryData", {}).get(PLAN_KEY, "")))
            except ValueError:
                return None
    return None


def _group(job: Object, plan: Plan | None) -> GroupView:
    key = job_key(job["metadata"]["name"])
    assert key is not None  # noqa: S101 - the caller looked
    status = job.get("status") or {}
    known = plan is not None and key.group < len(plan.groups)
    state, detail = _state(status)
    return GroupView(
        iteration=key.iteration,
        group=key.group,
        retry=key.retry,
        nodes=plan.groups[key.group].nodes if plan is not None and known else (),
        job=job["metadata"]["name"],
        train_job=(status.get("workloadRef") or {}).get("name", ""),
        state=state,
        detail=detail,
        figures=status.get("figures") or {},
        started=status.get("workloadStartTime", ""),
        ended=status.get("workloadEndTime", ""),
    )


def _state(status: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a person wants to know of a Job's conditions: the worst of them, and its message."""
    true = {item["type"]: item["message"] for item in status.get("conditions") or () if item["status"] == "True"}
    for type_ in ("Failed", "ValidationFailed", "Succeeded"):
        if type_ in true:
            return type_, true[type_]
    waiting = (status.get("waiting") or {}).get("message", "")
    return status.get("workloadPhase") or "Pending", waiting or true.get("InProgress", "")
