"""A plan as people look at it before anything runs: which nodes, which groups, what each requests, what changed why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sync_hooks.planning.plan import Plan, Unplannable


@dataclass(frozen=True, slots=True)
class Request:
    """What each pod of one replicatedJob asks for."""

    role: str
    pods: int
    resources: Mapping[str, str]
    claims: tuple[str, ...]
    scheduler: str


@dataclass(frozen=True, slots=True)
class Row:
    """A platform row or an override that applies."""

    source: str
    when: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanView:
    """What a run would do, or why it cannot be placed: then ``problem`` says so and there are no groups."""

    problem: str
    platform: str
    architecture: str
    gpus_per_node: int
    targeted: int
    excluded: Mapping[str, tuple[str, ...]]
    """Nodes that are left out, by reason."""
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    """Nodes and topology domains of each group, in order of their numbers."""
    candidates: int
    """Nodes among which the scheduler chooses, where it does."""
    iterations: int
    max_concurrent: int
    timeout: str
    requests: tuple[Request, ...]
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]


def plan_view(planned: Plan | Unplannable) -> PlanView:
    """Look at a plan, or at why there is none."""
    if isinstance(planned, Unplannable):
        return _of_problem(planned)
    return PlanView(
        problem="",
        platform=planned.platform,
        architecture=planned.architecture,
        gpus_per_node=planned.gpus_per_node,
        targeted=planned.targeted,
        excluded=_by_reason(planned.exclusions),
        groups=tuple((group.nodes, group.domains) for group in planned.groups),
        candidates=len(planned.candidates),
        iterations=planned.iterations,
        max_concurrent=planned.max_concurrent,
        timeout=str(planned.job.get("spec", {}).get("timeout", "")),
        requests=tuple(_requests(planned)),
        rows=tuple(_row(one) for one in planned.applied_overrides),
        warnings=planned.warnings,
    )


def _of_problem(problem: Unplannable) -> PlanView:
    return PlanView(
        problem=f"{problem.reason}: {problem.message}",
        platform="",
        architecture="",
        gpus_per_node=0,
        targeted=len(problem.exclusions),
        excluded=_by_reason((node.name, node.reason) for node in problem.exclusions),
        groups=(),
        candidates=0,
        iterations=0,
        max_concurrent=0,
        timeout="",
        requests=(),
        rows=tuple(_row(one.to_dict()) for one in problem.applied_overrides),
        warnings=(),
    )


def _by_reason(excluded: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name, reason in excluded:
        found.setdefault(reason, []).append(name)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return {reason: tuple(sorted(names)) for reason, names in ordered}


def _row(applied: Mapping[str, Any]) -> Row:
    return Row(str(applied["source"]), str(applied.get("when", "")), tuple(applied.get("changed") or ()))


def _requests(plan: Plan) -> Iterator[Request]:
    """Read the requests out of the runtime, or out of the copy that each Job brings."""
    own = (one for one in plan.job.get("spec", {}).get("dependencies", ()) if one.get("kind") == "TrainingRuntime")
    runtime = plan.runtime or next(own, {})
    for job in runtime.get("spec", {}).get("template", {}).get("spec", {}).get("replicatedJobs", ()):
        spec = job["template"]["spec"]
        pod = spec["template"]["spec"]
        resources: dict[str, str] = {}
        for container in pod["containers"]:
            asked = container.get("resources") or {}
            resources |= {**(asked.get("requests") or {}), **(asked.get("limits") or {})}
        claims = tuple(str(claim.get("name", "")) for claim in pod.get("resourceClaims") or ())
        pods = int(spec.get("parallelism", 1)) * int(job.get("replicas", 1))
        yield Request(job["name"], pods, resources, claims, str(pod.get("schedulerName", "")))
