"""What a run would fail of in the end, named before anything is made: namespace, LogProfiles, and who is already there.

PodSecurity, a quota that no group fits into and LogProfiles that cannot measure end planning; a quota that is used up
and nodes that another run holds are warnings, because they pass. What cannot be read of the namespace is not held
against the run; a LogProfile that cannot be read is waited for, because the measurement has to read it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sync_hooks.api.conditions import FAILED, SUCCEEDED, is_true
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.observed import LiveObject
from sync_hooks.api.request import ConfigMapChild
from sync_hooks.api.status import read_status
from sync_hooks.api.sync import GetObject, ListObjects, Observed, Read, Reads
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.execution.log_profiles import check_profiles, profile_reads
from sync_hooks.execution.plan_seen import read_plan
from sync_hooks.execution.pod_security import ENFORCE, violations
from sync_hooks.execution.quota import too_small, what_is_left
from sync_hooks.planning.plan import Plan, Unplannable
from sync_hooks.planning.pods import pods_of
from sync_hooks.planning.state import name_some

POD_SECURITY_FORBIDS = "PodSecurityForbids"
MOST_RUNS = 20  # other runs whose plans are read


def surroundings(namespace: str) -> tuple[Read, ...]:
    """Return the reads that do not depend on the plan."""
    runs = ListObjects(API_VERSION, "Workflow")
    return GetObject("v1", "Namespace", namespace), ListObjects("v1", "ResourceQuota", namespace), runs


def look_ahead(plan: Plan, namespace: str, observed: Observed) -> Plan | Unplannable | Reads:
    """Return the plan with warnings, why there is none, or what must be read first.

    The run itself has no plan yet, and so is none of those that hold nodes.
    """
    first = surroundings(namespace)
    if any(read not in observed for read in first):
        return Reads(first)
    found, quotas, runs = (observed[read] for read in first)
    then: tuple[Read, ...] = (*profile_reads(plan), *map(_plan_read, _live(runs)[:MOST_RUNS]))
    if any(read not in observed for read in then):
        return Reads(then)
    refused = _pod_security(plan, found) if isinstance(found, LiveObject) else None
    refused = refused or too_small(plan, _listed(quotas)) or check_profiles(plan, observed)
    return refused or with_warnings(plan, namespace, observed)


def with_warnings(plan: Plan, namespace: str, observed: Observed) -> Plan:
    """Add what groups will wait for; everything that `look_ahead` asks for has been read."""
    _, quotas, runs = (observed[read] for read in surroundings(namespace))
    warnings = (*what_is_left(plan, _listed(quotas)), *_held(plan, _live(runs), observed))
    return msgspec.structs.replace(plan, warnings=(*plan.warnings, *warnings)) if warnings else plan


def _listed(found: Any) -> Sequence[LiveObject]:
    return found if isinstance(found, tuple) else ()


def _live(runs: Any) -> list[LiveObject]:
    return [run for run in _listed(runs) if _is_live(run)]


def _is_live(run: LiveObject) -> bool:
    status = read_status(WorkflowStatus, run.status)
    return status.plan is not None and not is_true(status.conditions or (), SUCCEEDED, FAILED)


def _plan_read(run: LiveObject) -> GetObject:
    plan = read_status(WorkflowStatus, run.status).plan
    return GetObject("v1", "ConfigMap", plan.name if plan else "", run.metadata.namespace)


# PodSecurity


def _pod_security(plan: Plan, namespace: LiveObject) -> Unplannable | None:
    level = (namespace.metadata.labels or {}).get(ENFORCE, "")
    problems = violations(level, tuple(pods_of(plan).values()))
    if not problems:
        return None
    message = (
        f"namespace {namespace.metadata.name} enforces PodSecurity level {level}, which refuses the pods of this run: "
        f"{'; '.join(problems)}; set its label {ENFORCE} to privileged, or use another namespace"
    )
    return Unplannable(POD_SECURITY_FORBIDS, message)


# Other runs


def _held(plan: Plan, runs: Sequence[LiveObject], observed: Observed) -> list[str]:
    """Name the nodes that other runs under way were planned for, by the very plans that they follow."""
    wanted = {node for group in plan.groups for node in group.nodes}
    warnings = []
    for run in runs[:MOST_RUNS]:
        stored, reference = observed[_plan_read(run)], read_status(WorkflowStatus, run.status).plan
        if not isinstance(stored, LiveObject) or reference is None:
            continue
        known, _ = read_plan(ConfigMapChild(binary_data=stored.binary_data), reference.sha256)
        shared = sorted(wanted & {node for group in known.groups for node in group.nodes}) if known else []
        if shared:
            name = f"{run.metadata.namespace}/{run.metadata.name}"
            text = f"{len(shared)} of {len(wanted)} nodes are used by run {name}, which is under way"
            warnings.append(f"{text}: groups wait for them ({name_some(tuple(shared))})")
    more = len(runs) - MOST_RUNS
    if more > 0:
        told = "1 more run is" if more == 1 else f"{more} more runs are"
        warnings.append(f"and {told} under way, of which the nodes were not looked at: groups wait for those too")
    return warnings
