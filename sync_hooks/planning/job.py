"""From the plan to one Job: names, labels, the group's size, and pods pinned to the group's nodes.

Everything that is the same for all groups stands in the plan already; here it is only filled in, without copying more
than what changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sync_hooks.api.model import API_VERSION
from sync_hooks.api.names import (
    ANNOTATION_GROUP_NODES,
    LABEL_DEVICES,
    LABEL_GROUP,
    LABEL_ITERATION,
    LABEL_JOB,
    LABEL_MANAGED_BY,
    LABEL_WORKFLOW,
    LABEL_WORKLOAD_RUN,
    MANAGED_BY,
    job_name,
    runtime_base,
)
from sync_hooks.api.trainer import LABEL_REPLICATED_JOB, PATCH_MANAGER, WORKER, JsonObject
from sync_hooks.cluster.nodes import LABEL_HOSTNAME
from sync_hooks.planning.naming import names_for_job, renamed, with_names
from sync_hooks.planning.plan import Group, Plan, RunIdentity

MOST_LAUNCHER_NODES = 32  # one pod without GPUs: to name a large group twice would only make the Job too large to store


def render_job(
    plan: Plan, identity: RunIdentity, workflow_name: str, group: int, iteration: int, retry: int = 0
) -> dict[str, Any]:
    """Render the whole Job of a group; ``group`` is its number in the plan, ``iteration`` counts from 1."""
    chosen = plan.groups[group]
    name = job_name(plan.prefix, group, iteration, retry)
    labels = {
        LABEL_MANAGED_BY: MANAGED_BY,
        LABEL_WORKLOAD_RUN: identity.name,
        LABEL_WORKFLOW: workflow_name,
        LABEL_GROUP: str(group),
        LABEL_ITERATION: str(iteration),
        LABEL_JOB: name,
        **({LABEL_DEVICES: "true"} if plan.own_objects else {}),
    }
    metadata = plan.job.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), **_group_nodes(chosen)}
    return {
        "apiVersion": API_VERSION,
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": identity.namespace,
            "labels": {**(metadata.get("labels") or {}), **labels},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": _spec(plan, chosen, name, labels),
    }


def _group_nodes(group: Group) -> dict[str, str]:
    return {ANNOTATION_GROUP_NODES: ",".join(group.nodes)} if group.nodes else {}


def _spec(plan: Plan, group: Group, name: str, labels: Mapping[str, str]) -> JsonObject:
    spec: JsonObject = plan.job["spec"]
    train_job = spec["workload"]["trainJob"]
    size = len(group.nodes) or train_job["trainer"]["numNodes"]
    pods = {name: _pod_spec(plan, group, name, labels[LABEL_JOB]) for name in plan.replicated_jobs}
    filled = {
        **train_job,
        "trainer": {**train_job["trainer"], "numNodes": size},
        "runtimePatches": [
            _with_pod_specs(patch, pods) if patch["manager"] == PATCH_MANAGER else patch
            for patch in train_job["runtimePatches"]
        ],
    }
    ranks = {"ranks": size * plan.gpus_per_node} if plan.gpus_per_node else {}
    result = {**spec, **ranks, "workload": {**spec["workload"], "trainJob": filled}}
    if "dependencies" not in spec:
        return result
    names = names_for_job(spec["dependencies"], runtime_base(train_job["runtimeRef"]["name"]), name)
    own = [renamed(dependency, names, labels, size) for dependency in spec["dependencies"]]
    return {**with_names(result, names), "dependencies": own}


def _pod_spec(plan: Plan, group: Group, replicated_job: str, job: str) -> JsonObject:
    """Return what is laid over the pod spec of one replicatedJob."""
    requirements = [dict(requirement) for requirement in plan.node_requirements]
    if group.nodes:
        nodes = group.nodes if replicated_job == WORKER else group.nodes[:MOST_LAUNCHER_NODES]
        values = [plan.hostnames.get(node, node) for node in nodes]
        requirements = [{"key": LABEL_HOSTNAME, "operator": "In", "values": values}]
    affinity: JsonObject = {}
    if requirements:
        terms = {"nodeSelectorTerms": [{"matchExpressions": requirements}]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    if plan.spread and replicated_job == WORKER:
        selector = {"matchLabels": {LABEL_JOB: job, LABEL_REPLICATED_JOB: WORKER}}
        term = {"labelSelector": selector, "topologyKey": LABEL_HOSTNAME}
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {
        **({"affinity": affinity} if affinity else {}),
        **({"tolerations": [dict(toleration) for toleration in plan.tolerations]} if plan.tolerations else {}),
    }


def _with_pod_specs(patch: JsonObject, pods: Mapping[str, JsonObject]) -> JsonObject:
    """Lay pod specs over our patch; every replicatedJob has an entry there, see `checks.patch_everywhere`."""
    spec = patch["trainingRuntimeSpec"]
    template = spec["template"]
    jobs = [_with_pod_spec(job, pods.get(job["name"], {})) for job in template["spec"]["replicatedJobs"]]
    changed = {**template, "spec": {**template["spec"], "replicatedJobs": jobs}}
    return {**patch, "trainingRuntimeSpec": {**spec, "template": changed}}


def _with_pod_spec(job: JsonObject, pod: JsonObject) -> JsonObject:
    template = job.get("template") or {}
    job_spec = template.get("spec") or {}
    pod_template = job_spec.get("template") or {}
    old = pod_template.get("spec") or {}
    affinity = {**(old.get("affinity") or {}), **pod.get("affinity", {})}
    new = {**old, **pod, **({"affinity": affinity} if affinity else {})}
    return {
        **job,
        "template": {**template, "spec": {**job_spec, "template": {**pod_template, "spec": new}}},
    }
