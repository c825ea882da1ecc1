"""Lays one row of the platform table over a draft. Nothing given is modified: a new draft comes back."""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.names import GPU
from sync_hooks.api.trainer import CLAIM_TEMPLATE, COMPUTE_DOMAIN, WORKER, JsonObject
from sync_hooks.overrides.draft import Applied, Draft, Naming, changes, with_object
from sync_hooks.overrides.merge import merge_object
from sync_hooks.overrides.rows import DeviceClaim, Effects

COMPUTE_DOMAIN_CLAIM = "compute-domain"  # everywhere: the driver refuses a second name for the same channel


def apply_row(draft: Draft, row: Effects, naming: Naming) -> Applied:
    """Lay one row of the platform table over the draft."""
    objects = draft.objects
    for new in _row_objects(row, naming):
        objects = with_object(objects, new)
    runtime = merge_object(draft.runtime, _runtime_patch(row, draft.runtime, naming))
    job = merge_object(draft.job, _trainer_env(row)) if row.env else draft.job
    changed = (
        *(("mpiArgs",) if row.mpi_args else ()),
        *(("preCommand",) if row.pre_command else ()),
        *changes(draft, Draft(job, runtime, objects), "trainer.env"),
    )
    return Applied(Draft(job, runtime, objects), changed)


def _row_objects(row: Effects, naming: Naming) -> tuple[JsonObject, ...]:
    domain: JsonObject = {
        "apiVersion": COMPUTE_DOMAIN[0],
        "kind": COMPUTE_DOMAIN[1],
        "metadata": naming.metadata("compute-domain"),
        "spec": {
            "numNodes": naming.nodes,
            "channel": {
                "allocationMode": "Single",
                "resourceClaimTemplate": {"name": f"{naming.base}-channel"},
            },
        },
    }
    templates = (_claim_template(claim, naming) for claim in row.claims)
    return (*((domain,) if row.compute_domain else ()), *templates)


def _claim_template(claim: DeviceClaim, naming: Naming) -> JsonObject:
    request = {"name": claim.request, "exactly": {"deviceClassName": claim.device_class, "count": claim.count}}
    return {
        "apiVersion": CLAIM_TEMPLATE[0],
        "kind": CLAIM_TEMPLATE[1],
        "metadata": naming.metadata(claim.template),
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def _trainer_env(row: Effects) -> JsonObject:
    return {"spec": {"workload": {"trainJob": {"trainer": {"env": [dict(variable) for variable in row.env]}}}}}


def _runtime_patch(row: Effects, runtime: JsonObject, naming: Naming) -> JsonObject:
    """Write what a row does to the workers' pods; lists without names are restated with what is there already."""
    pod, container = _worker(runtime)
    claims = [*([(COMPUTE_DOMAIN_CLAIM, "channel")] if row.compute_domain else [])]
    claims += [(claim.name, claim.template) for claim in row.claims]
    spec: JsonObject = {}
    if row.tolerations:
        spec["tolerations"] = _union(pod.get("tolerations") or [], row.tolerations)
    if claims:
        spec["resourceClaims"] = [
            {"name": name, "resourceClaimTemplateName": f"{naming.base}-{template}"} for name, template in claims
        ]
    container_changes = _container_patch(row, container, [name for name, _ in claims])
    if container_changes:
        spec["containers"] = [{"name": WORKER, **container_changes}]
    template: JsonObject = {"spec": spec} if spec else {}
    if row.pod_annotations:
        template["metadata"] = {"annotations": dict(row.pod_annotations)}
    if not template:
        return {}
    job = {"name": WORKER, "template": {"spec": {"template": template}}}
    return {"spec": {"template": {"spec": {"replicatedJobs": [job]}}}}


def _container_patch(row: Effects, container: JsonObject, claims: Sequence[str]) -> JsonObject:
    patch: JsonObject = {}
    if row.container_env:
        patch["env"] = [dict(variable) for variable in row.container_env]
    amounts: JsonObject = {name: str(count) for name, count in (row.fabric_resources or {}).items()}
    amounts |= {GPU: None} if row.gpus_claimed else {}
    resources: JsonObject = {"limits": dict(amounts), "requests": dict(amounts)} if amounts else {}
    if claims:
        resources["claims"] = [{"name": name} for name in claims]
    if resources:
        patch["resources"] = resources
    if row.capabilities:
        known = ((container.get("securityContext") or {}).get("capabilities") or {}).get("add") or []
        patch["securityContext"] = {"capabilities": {"add": _union(known, row.capabilities)}}
    return patch


def _union(known: Sequence[object], new: Sequence[object]) -> list[object]:
    return [*known, *(entry for entry in new if entry not in known)]


def _worker(runtime: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return pod spec and container of the workers, as they were rendered."""
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    pod: JsonObject = next(job["template"]["spec"]["template"]["spec"] for job in jobs if job["name"] == WORKER)
    container: JsonObject = next(one for one in pod["containers"] if one["name"] == WORKER)
    return pod, container
