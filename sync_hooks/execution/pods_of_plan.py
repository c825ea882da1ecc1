"""The pods that a plan will have, as its runtime describes them before Trainer fills in the TrainJob."""

from __future__ import annotations

from sync_hooks.api.trainer import TRAINING_RUNTIME, JsonObject, kind_of, pod_of
from sync_hooks.planning.plan import Plan

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def pods_of(plan: Plan) -> tuple[JsonObject, ...]:
    """Return the pod specs of the run's runtime, one a replicatedJob."""
    return tuple(map(pod_of, replicated_jobs_of(plan)))


def containers_of(pod: JsonObject) -> list[JsonObject]:
    """Return every container of a pod spec, in the order in which they start."""
    return [container for field in CONTAINERS for container in pod.get(field) or ()]


def replicated_jobs_of(plan: Plan) -> tuple[JsonObject, ...]:
    """Return the replicatedJobs of the run's runtime, or of the copy that each Job brings."""
    own = plan.job.get("spec", {}).get("dependencies") or ()
    runtime = plan.runtime or next((item for item in own if kind_of(item) == TRAINING_RUNTIME), {})
    template = (runtime.get("spec") or {}).get("template") or {}
    return tuple((template.get("spec") or {}).get("replicatedJobs") or ())
