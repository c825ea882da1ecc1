"""What the ResourceQuotas of a namespace leave to a run: held against what its pods request and limit, by their sum.

A quota counts a pod as the scheduler does. Quotas of a scope say nothing of all pods, and are not looked at; nor is
what claims of devices take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from sync_hooks.api.observed import LiveObject
from sync_hooks.api.quantity import parse_quantity
from sync_hooks.api.trainer import JsonObject
from sync_hooks.planning.amounts import Amounts, limits, requests, shown, total
from sync_hooks.planning.plan import Plan, Unplannable
from sync_hooks.planning.pods import containers_of, pod_counts, pods_of

QUOTA_TOO_SMALL = "QuotaTooSmall"
REQUESTS = "requests."
LIMITS = "limits."
LIMITED = ("cpu", "memory", "ephemeral-storage")
"""Resources whose limits a quota counts."""
STANDARD = (*LIMITED, "hugepages-")
"""Resources that a quota may name without ``requests.`` too; the last is a prefix."""
OBJECTS = {
    "count/jobs.cre.nvidia.com": 1,
    "count/trainjobs.trainer.kubeflow.org": 1,
    "count/jobsets.jobset.x-k8s.io": 1,
    "count/services": 1,
    "services": 1,
}
"""What each group makes besides its pods and their Jobs: JobSet names pods by a Service."""
NEEDS_A_VALUE = {
    **{name: (name, ("requests", "limits")) for name in ("cpu", "memory")},
    **{f"{REQUESTS}{name}": (name, ("requests", "limits")) for name in ("cpu", "memory")},
    **{f"{LIMITS}{name}": (name, ("limits",)) for name in ("cpu", "memory")},
}
"""Resources of a quota that refuses pods with a container without a value, and the fields that may give it: a request
that is not set is the limit."""


def group_needs(plan: Plan) -> Amounts:
    """Return what the largest group takes of everything that a quota may count."""
    size = max((len(group.nodes) for group in plan.groups), default=0) or _num_nodes(plan)
    pods, counts = pods_of(plan), pod_counts(plan, size)
    everyone = [(pod, counts[name]) for name, pod in pods.items()]
    requested = total(_times(requests(pod), count) for pod, count in everyone)
    limited = total(_times(limits(pod), count) for pod, count in everyone)
    number, jobs = Fraction(sum(counts.values())), Fraction(len(counts))
    return {
        **{name: amount for name, amount in requested.items() if name.startswith(STANDARD)},
        **{f"{REQUESTS}{name}": amount for name, amount in requested.items()},
        **{f"{LIMITS}{name}": amount for name, amount in limited.items() if name in LIMITED},
        **{name: Fraction(count) for name, count in OBJECTS.items()},
        **dict.fromkeys(("pods", "count/pods"), number),
        "count/jobs.batch": jobs,
    }


def too_small(plan: Plan, quotas: Iterable[LiveObject]) -> Unplannable | None:
    """Say which quota no group fits into, None where each has room for one."""
    for quota, resource, need, hard in _constrained(plan, quotas):
        if hard < need:
            text = f"ResourceQuota {quota.metadata.name} allows {shown(resource, hard)}: it would never start"
            return Unplannable(QUOTA_TOO_SMALL, f"a group needs {shown(resource, need)} {resource}, {text}")
    return None


def what_is_left(plan: Plan, quotas: Sequence[LiveObject]) -> list[str]:
    """Say which quotas are used up for now, and which count what containers of the run do not set."""
    warnings = []
    for quota, resource, need, hard in _constrained(plan, quotas):
        left = hard - (parse_quantity(((quota.status or {}).get("used") or {}).get(resource)) or Fraction(0))
        if left < need:
            text = f"ResourceQuota {quota.metadata.name} leaves {shown(resource, max(Fraction(0), left))} {resource}"
            warnings.append(f"{text}, a group needs {shown(resource, need)}: groups wait until others have ended")
    return [*warnings, *_without_value(plan, quotas)]


def _constrained(plan: Plan, quotas: Iterable[LiveObject]) -> Iterator[tuple[LiveObject, str, Fraction, Fraction]]:
    """Yield quotas with a resource, what the largest group needs of it, and what there may be of it in all."""
    needs: Amounts | None = None
    for quota in quotas:
        if (quota.spec or {}).get("scopes") or (quota.spec or {}).get("scopeSelector"):
            continue
        needs = group_needs(plan) if needs is None else needs
        for resource, given in sorted(_hard(quota).items()):
            hard = parse_quantity(given)
            if resource in needs and hard is not None:
                yield quota, resource, needs[resource], hard


def _times(amounts: Amounts, count: int) -> Amounts:
    return {name: amount * count for name, amount in amounts.items()}


def _num_nodes(plan: Plan) -> int:
    return int(plan.job["spec"]["workload"]["trainJob"]["trainer"]["numNodes"])


def _hard(quota: LiveObject) -> Mapping[str, str]:
    return (quota.spec or {}).get("hard") or {}


def _without_value(plan: Plan, quotas: Iterable[LiveObject]) -> list[str]:
    """Name requests and limits that a quota asks of every container, init containers too, and that ours do not have."""
    asked = {
        resource: quota.metadata.name for quota in quotas for resource in NEEDS_A_VALUE if resource in _hard(quota)
    }
    pods = pods_of(plan).values() if asked else ()
    missing = []
    for resource, quota in sorted(asked.items()):
        name, fields = NEEDS_A_VALUE[resource]
        lacking = dict.fromkeys(who for pod in pods for who in _lacking(pod, name, fields))
        if lacking:
            text = f"ResourceQuota {quota} counts {resource}, which containers of this run do not set"
            missing.append(f"{text} ({', '.join(lacking)}): their pods are refused unless a LimitRange sets it")
    return missing


def _lacking(pod: JsonObject, resource: str, fields: Iterable[str]) -> Iterator[str]:
    """Name the containers of a pod without a value; none where the pod has one for all of them."""
    if not _has_value(pod, resource, fields):
        yield from (str(one.get("name")) for one in containers_of(pod) if not _has_value(one, resource, fields))


def _has_value(holder: JsonObject, resource: str, fields: Iterable[str]) -> bool:
    resources = holder.get("resources") or {}
    return any(resource in (resources.get(field) or {}) for field in fields)
