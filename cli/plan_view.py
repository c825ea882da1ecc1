"""A plan as people look at it before anything runs: which nodes, which groups, what each requests, what changed why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sync_hooks.planning.plan import Plan, Unplannable

MOST_NAMES = 8  # of a list of nodes
MOST_DOMAINS = 40


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


def lines(plan: PlanView) -> Iterator[str]:
    """Tell the plan, a line each."""
    if plan.problem:
        yield plan.problem
    else:
        eligible = plan.targeted - sum(map(len, plan.excluded.values()))
        yield f"{plan.platform}, {plan.architecture}, {plan.gpus_per_node} GPUs a node"
        yield f"nodes: {plan.targeted} targeted, {eligible} eligible, {plan.targeted - eligible} excluded"
    for reason, names in plan.excluded.items():
        yield f"excluded, {reason}: {_some(names)}"
    yield from _groups(plan)
    for request in plan.requests:
        yield _request(request)
    for row in plan.rows:
        yield f"{row.source} ({row.when}) changed {', '.join(row.changed) or 'nothing'}"
    for warning in plan.warnings:
        yield f"warning: {warning}"


def _groups(plan: PlanView) -> Iterator[str]:
    if not plan.groups:
        return
    at_once = f"{plan.max_concurrent} at once" if plan.max_concurrent else "all at once"
    times = f", {plan.iterations} times" if plan.iterations > 1 else ""
    limit = f", each for at most {plan.timeout}" if plan.timeout else ""
    yield f"groups: {len(plan.groups)}, {at_once}{times}{limit}"
    if plan.candidates:
        yield f"the scheduler chooses the nodes among {plan.candidates}"
        return
    by_domain: dict[str, list[int]] = {}
    for number, (_, domains) in enumerate(plan.groups):
        by_domain.setdefault(" + ".join(domains), []).append(number)
    for domain, numbers in list(by_domain.items())[:MOST_DOMAINS]:
        told = _some([f"{number} ({_span(plan.groups[number][0])})" for number in numbers])
        yield f"{f'domain {domain}' if domain else 'no domain'}: group {told}"
    if len(by_domain) > MOST_DOMAINS:
        yield f"and {len(by_domain) - MOST_DOMAINS} more domains"


def _span(nodes: Sequence[str]) -> str:
    return ", ".join(nodes) if len(nodes) <= 2 else f"{nodes[0]} .. {nodes[-1]}, {len(nodes)} nodes"


def _request(request: Request) -> str:
    asked = [f"{amount} {name}" for name, amount in sorted(request.resources.items())]
    asked += [f"claim {name}" for name in request.claims]
    scheduler = f", scheduled by {request.scheduler}" if request.scheduler else ""
    pods = "pod" if request.pods == 1 else "pods"
    return f"each group: {request.pods} {request.role} {pods}, each asks for {', '.join(asked) or 'nothing'}{scheduler}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def document(plan: PlanView) -> dict[str, Any]:
    """Build the plan's part of a JSON document. Absent keys are unknown, never null."""
    if plan.problem:
        return {"problem": plan.problem, "excluded": _excluded(plan), "rows": _rows(plan)}
    return {
        "platform": plan.platform,
        "architecture": plan.architecture,
        "gpusPerNode": plan.gpus_per_node,
        "targeted": plan.targeted,
        "excluded": _excluded(plan),
        "groups": [
            {"group": number, "nodes": list(nodes), "domains": list(domains)}
            for number, (nodes, domains) in enumerate(plan.groups)
        ],
        "iterations": plan.iterations,
        "maxConcurrent": plan.max_concurrent,
        "timeout": plan.timeout,
        "requests": [
            {"role": one.role, "pods": one.pods, "resources": dict(one.resources), "claims": list(one.claims)}
            for one in plan.requests
        ],
        "rows": _rows(plan),
        "warnings": list(plan.warnings),
    }


def _excluded(plan: PlanView) -> list[dict[str, str]]:
    found = ({"name": name, "reason": reason} for reason, names in plan.excluded.items() for name in names)
    return sorted(found, key=lambda node: node["name"])


def _rows(plan: PlanView) -> list[dict[str, Any]]:
    return [{"source": row.source, "when": row.when, "changed": list(row.changed)} for row in plan.rows]
