"""A step that warns of overrides by which pods start again on their own: a flaky node is then masked, not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from sync_hooks.api.observed import Facts
from sync_hooks.planning.state import State


class _PodSpec(Facts, frozen=True):
    restart_policy: str = "OnFailure"  # JobSet's own default


class _PodTemplate(Facts, frozen=True):
    spec: _PodSpec = _PodSpec()


class _JobSpec(Facts, frozen=True):
    template: _PodTemplate = _PodTemplate()
    backoff_limit: int = 6  # Kubernetes' own default


class _JobTemplate(Facts, frozen=True):
    spec: _JobSpec = _JobSpec()


class _ReplicatedJob(Facts, frozen=True):
    name: str = ""
    template: _JobTemplate = _JobTemplate()


class _Rule(Facts, frozen=True):
    action: str = ""


class _FailurePolicy(Facts, frozen=True):
    max_restarts: int = 0
    rules: tuple[_Rule, ...] = ()


class _JobSetSpec(Facts, frozen=True):
    failure_policy: _FailurePolicy = _FailurePolicy()
    replicated_jobs: tuple[_ReplicatedJob, ...] = ()


def warn_of_restarts(state: State) -> State:
    """Name what starts pods again: ours fail at once, with restartPolicy Never and backoffLimit 0."""
    try:
        job_set = msgspec.convert(state.draft.runtime["spec"]["template"]["spec"], _JobSetSpec)
    except msgspec.ValidationError:  # the API server says it better
        return state
    found = ", ".join(_restarts(job_set))
    if not found:
        return state
    text = f"an override lets pods start again, so that a node that fails now and then may pass: {found}"
    return replace(state, warnings=(*state.warnings, text))


def _restarts(job_set: _JobSetSpec) -> Iterator[str]:
    policy = job_set.failure_policy
    if policy.max_restarts > 0:
        yield f"failurePolicy.maxRestarts is {policy.max_restarts}"
    if any(rule.action.endswith("IgnoreMaxRestarts") for rule in policy.rules):
        yield "failurePolicy restarts without a limit"
    for job in job_set.replicated_jobs:
        spec = job.template.spec
        if spec.backoff_limit > 0:
            yield f"backoffLimit of replicatedJob {job.name} is {spec.backoff_limit}"
        if spec.template.spec.restart_policy != "Never":
            yield f"restartPolicy of replicatedJob {job.name} is {spec.template.spec.restart_policy}"
