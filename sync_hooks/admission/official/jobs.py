"""What Jobs, JobSets and the policies of Trainer may say together: one function a type."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sync_hooks.admission.causes import forbidden, invalid, required
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

BY_INDEX = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
FILLED = ("node", "dataset-initializer", "model-initializer")
"""Containers that Kubeflow Trainer fills in."""
SOURCES = ("flux", "jax", "mpi", "torch", "xgboost")


def job_errors(job: Value) -> Iterator[FieldError]:
    """Check the policies of a whole Job against each other and its pods; by JobSet's default it is Indexed."""
    per_index = job.field("backoffLimitPerIndex")
    if job.field("maxFailedIndexes").present and not per_index.present:
        yield required(per_index, "must be given with maxFailedIndexes")
    if job.field("completionMode").json == "NonIndexed":
        yield from (forbidden(job.field(n), "needs completionMode Indexed") for n in BY_INDEX if job.field(n).present)
    if job.field("podFailurePolicy").present:
        yield from _failure_errors(job)
    yield from _success_errors(job)


def _failure_errors(job: Value) -> Iterator[FieldError]:
    replacement, pod = job.field("podReplacementPolicy"), job.field("template", "spec")
    if replacement.json == "TerminatingOrFailed":
        yield invalid(replacement, "must be Failed with podFailurePolicy")
    if pod.field("restartPolicy").json != "Never":
        yield invalid(pod.field("restartPolicy"), "must be Never with podFailurePolicy")
    containers = (*pod.field("containers").elements(), *pod.field("initContainers").elements())
    names = {container.field("name").text for container in containers}
    for rule in job.field("podFailurePolicy", "rules").elements():
        name, action = rule.field("onExitCodes", "containerName"), rule.field("action")
        if name.present and name.text not in names:
            yield invalid(name, f"must be a container of the pod: {', '.join(sorted(names))}")
        if action.json == "FailIndex" and not job.field("backoffLimitPerIndex").present:
            yield invalid(action, "needs backoffLimitPerIndex")


def _success_errors(job: Value) -> Iterator[FieldError]:
    completions = job.field("completions").number
    for rule in job.field("successPolicy", "rules").elements():
        indexes = rule.field("succeededIndexes")
        if indexes.present and not _are_indexes(indexes.text, completions):
            most = f", each below the {completions} completions" if completions is not None else ""
            yield invalid(indexes, f"must be numbers and ranges in order, such as 1,3-5{most}")


def _are_indexes(text: str, completions: int | None) -> bool:
    last = -1
    if not text:
        return True
    for part in text.split(","):
        first, dash, end = part.partition("-")
        if not all(one.isdecimal() and one.isascii() for one in (first, *([end] if dash else []))):
            return False
        low, high = int(first[:10]), int((end or first)[:10])
        if low <= last or high < low or (dash and high == low) or (completions is not None and high >= completions):
            return False
        last = high
    return True


def exit_code_errors(codes: Value) -> Iterator[FieldError]:
    """Check exit codes: sorted, each once, and 0 is no failure."""
    values = codes.field("values")
    numbers = [value.number for value in values.elements() if value.number is not None]
    if any(first >= second for first, second in pairwise(numbers)):
        yield invalid(values, "must be sorted, each once")
    if codes.field("operator").json == "In" and 0 in numbers:
        yield invalid(values, "must not hold 0 with operator In")


def success_rule_errors(rule: Value) -> Iterator[FieldError]:
    """Check that a rule says what is enough."""
    if not rule.field("succeededCount").present and not rule.field("succeededIndexes").present:
        yield required(rule, "succeededCount, succeededIndexes or both must be given")


def policy_errors(policy: Value) -> Iterator[FieldError]:
    """Check that Trainer is told of one framework at most."""
    given = [name for name in SOURCES if policy.field(name).present]
    if len(given) > 1:
        yield invalid(policy, f"only one may be given, not {' and '.join(given)}")


def pod_patch_errors(pod: Value) -> Iterator[FieldError]:
    """Check that a runtimePatch leaves the variables of containers alone that Trainer fills in."""
    for container in pod.field("containers").elements():
        if container.field("name").text in FILLED and container.field("env").json:
            yield forbidden(container.field("env"), "Trainer takes these from the TrainJob: trainer.env, initializer")


def job_set_errors(job_set: Value) -> Iterator[FieldError]:
    """Check that replicatedJobs which a whole JobSet names are there."""
    seen: list[str] = []
    ordered = job_set.field("startupPolicy", "startupPolicyOrder").json == "InOrder"
    for job in job_set.field("replicatedJobs").elements():
        for other in job.field("dependsOn").elements():
            if other.field("name").text not in seen:
                yield invalid(other.field("name"), f"must be a replicatedJob before this one: {_listed(seen)}")
        if ordered and job.field("dependsOn").present:
            yield forbidden(job.field("dependsOn"), "may not be given with startupPolicyOrder InOrder")
        seen.append(job.field("name").text)
    rules = job_set.field("failurePolicy", "rules").elements()
    for policy in (job_set.field("successPolicy"), *rules):
        yield from _missing(policy.field("targetReplicatedJobs").elements(), seen)
    coordinator = job_set.field("coordinator", "replicatedJob")
    yield from _missing(iter([coordinator] if coordinator.present else []), seen)


def _missing(names: Iterator[Value], known: list[str]) -> Iterator[FieldError]:
    yield from (invalid(name, f"must be a replicatedJob: {_listed(known)}") for name in names if name.text not in known)


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "there is none"
