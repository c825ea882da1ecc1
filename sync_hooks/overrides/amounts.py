"""Limits and requests of resources that cannot be overcommitted: Kubernetes wants both to be the same.

Extended resources and huge pages. Where an override names one of the two the other follows; nothing is followed where
it names both. A limit that an override deletes takes its request along, for neither may be without the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sync_hooks.api.quantity import parse_quantity
from sync_hooks.api.trainer import JsonObject, pod_of

NATIVE_DOMAIN = "kubernetes.io/"
HUGE_PAGES = "hugepages-"
CONTAINERS = ("containers", "initContainers")


class Disagreement(ValueError):
    """An override names two amounts of one resource that must be the same."""


def is_fixed(resource: str) -> bool:
    """Tell whether a resource cannot be overcommitted: an extended resource, or huge pages."""
    domain = resource.partition("/")[0] + "/" if "/" in resource else ""
    extended = bool(domain) and domain != NATIVE_DOMAIN and not domain.endswith(f".{NATIVE_DOMAIN}")
    return extended or resource.startswith(HUGE_PAGES)


def agreed_in_runtime(before: JsonObject, after: JsonObject) -> JsonObject:
    """Let limits and requests of every container agree in a TrainingRuntime. Raises Disagreement."""
    known = {job["name"]: pod_of(job) for job in _jobs(before)}
    jobs = [_agreed_in_job(known.get(job["name"], {}), job) for job in _jobs(after)]
    if jobs == _jobs(after):
        return after
    template = after["spec"]["template"]
    job_set = {**template["spec"], "replicatedJobs": jobs}
    return {**after, "spec": {**after["spec"], "template": {**template, "spec": job_set}}}


def agreed(before: JsonObject, after: JsonObject, place: str) -> JsonObject:
    """Let limits and requests agree in one container's resources, ``before`` being those that were changed.

    A request that is left out is its limit, by Kubernetes' own default. Raises Disagreement.
    """
    amounts: dict[str, dict[str, Any]] = {part: dict(after.get(part) or {}) for part in ("limits", "requests")}
    for name in sorted(filter(is_fixed, amounts["limits"].keys() | amounts["requests"].keys())):
        limit, request = amounts["limits"].get(name), amounts["requests"].get(name)
        if request is None or _same(limit, request):
            continue
        names_limit = not _same(limit, (before.get("limits") or {}).get(name))
        names_request = not _same(request, (before.get("requests") or {}).get(name))
        if names_limit and names_request:
            text = f"{place}: {name} has {_told(limit)} and the request {request}, which must be the same"
            raise Disagreement(text)
        if names_limit and limit is None:
            del amounts["requests"][name]
        else:
            amounts["limits"][name] = amounts["requests"][name] = limit if names_limit else request
    return {**after, **{part: given for part, given in amounts.items() if given or part in after}}


def _told(limit: object) -> str:
    return "no limit any more" if limit is None else f"the limit {limit}"


def _same(one: object, other: object) -> bool:
    return one == other or (one is not None and other is not None and parse_quantity(one) == parse_quantity(other))


def _jobs(runtime: JsonObject) -> Sequence[JsonObject]:
    jobs: Sequence[JsonObject] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return jobs


def _agreed_in_job(before: JsonObject, job: JsonObject) -> JsonObject:
    pod = pod_of(job)
    changed = {field: list(_agreed_in_list(before, pod, field)) for field in CONTAINERS if field in pod}
    template = job["template"]
    spec = {**template["spec"], "template": {**template["spec"]["template"], "spec": {**pod, **changed}}}
    return {**job, "template": {**template, "spec": spec}}


def _agreed_in_list(before: JsonObject, pod: JsonObject, field: str) -> Iterator[JsonObject]:
    known: Mapping[str, JsonObject] = {one["name"]: one for one in before.get(field) or ()}
    for one in pod[field]:
        resources = one.get("resources")
        if not resources:
            yield one
            continue
        old = known.get(one["name"], {}).get("resources") or {}
        yield {**one, "resources": agreed(old, resources, f"{field}[{one['name']}].resources")}
