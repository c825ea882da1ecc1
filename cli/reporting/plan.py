"""A plan in words, before anything runs: a line each for people, or a part of a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cli.plan_view import PlanView, Request

MOST_NAMES = 8  # of a list of nodes
MOST_DOMAINS = 40


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
