"""Last steps: the plan as a whole, and a look at the size of everything that will be stored."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from sync_hooks.api.names import ANNOTATION_GROUP_NODES, shorten
from sync_hooks.api.quantity import whole_units
from sync_hooks.api.trainer import CONFIG_MAP, WORKER, JsonObject, kind_of, name_of, pod_of
from sync_hooks.cluster.nodes import LABEL_GPU_PRESENT, LABEL_GPU_PRODUCT, LABEL_HOSTNAME, hostname
from sync_hooks.cluster.platform import products_of
from sync_hooks.cluster.resources import GPU, offered
from sync_hooks.planning import reasons
from sync_hooks.planning.counts import named_gpus
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable, encode
from sync_hooks.planning.state import State, give_up

LARGEST_OBJECT_BYTES = 240_000
"""Metacontroller stores each child a second time in an annotation, and annotations end at 262,144 bytes."""

MOST_SYNC_BYTES = 128_000_000
"""Metacontroller sends a Workflow with all its Jobs, and the hooks take only so much; see `webhook.limits`."""
ROOM_A_JOB_BYTES = 16_000
"""What a Job may have besides twice its spec: metadata of the API server, its status, the end of a log."""


def assemble(state: State) -> Plan:
    """Put the plan together."""
    objects = state.draft.objects
    own = tuple(known for known in objects if kind_of(known) != CONFIG_MAP)
    runtime = state.draft.runtime
    unpinned = state.orchestration.unpinned
    grouped = {name for group in state.groups for name in group.nodes}
    return Plan(
        prefix=job_prefix(state.identity.name),
        platform=state.platform,
        architecture=state.architecture,
        gpus_per_node=state.gpus,
        targeted=state.selection.targeted,
        exclusions=tuple(sorted(state.selection.excluded.items())),
        groups=state.groups,
        hostnames={
            node.name: hostname(node)
            for node in state.selection.kept
            if node.name in grouped and hostname(node) != node.name
        },
        runtime={} if own else runtime,
        shared=tuple(known for known in objects if kind_of(known) == CONFIG_MAP),
        job=_job(state, (runtime, *own) if own else ()),
        replicated_jobs=tuple(job["name"] for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]),
        tolerations=state.tolerations,
        unpinned=unpinned,
        candidates=tuple(node.name for node in state.selection.kept) if unpinned else (),
        node_requirements=tuple(_requirements(state)) if unpinned else (),
        spread=_has_room_for_two(state),
        own_objects=bool(own),
        iterations=state.orchestration.iterations,
        max_concurrent=state.orchestration.max_concurrent,
        retry_failed_groups=state.orchestration.retry_failed_groups,
        applied_overrides=tuple(applied.to_dict() for applied in state.applied),
        warnings=state.warnings,
    )


def job_prefix(run: str) -> str:
    """Return the first part of every Job's name: the run's shortened name, made to start with a letter.

    Trainer takes only names that do.
    """
    return shorten(run) if run[:1].isalpha() else shorten(f"r-{run}")


def check_sizes(state: State, plan: Plan) -> Unplannable | None:
    """Return why something that the plan makes could never be stored; None where all of it can."""
    for known in (*((plan.runtime,) if plan.runtime else ()), *plan.shared):
        size = len(msgspec.json.encode(known))
        if size > LARGEST_OBJECT_BYTES:
            message = (
                f"{kind_of(known)[1]} {name_of(known)} would take {size} bytes, {LARGEST_OBJECT_BYTES} can be stored"
            )
            return give_up(state, reasons.OBJECT_TOO_LARGE, message)
    number, size = _largest_job(plan, state.identity)
    if size > LARGEST_OBJECT_BYTES:
        count = len(plan.groups[number].nodes)
        possible = count * LARGEST_OBJECT_BYTES * 95 // (size * 100)  # a part of the Job does not shrink with the group
        message = (
            f"a Job that names the {count} nodes of group {number} would take {size} bytes, "
            f"{LARGEST_OBJECT_BYTES} can be stored: about {possible} nodes a group are possible"
        )
        return give_up(state, reasons.GROUP_TOO_LARGE, message)
    if problem := _too_many(plan, size):
        return give_up(state, reasons.TOO_MANY_GROUPS, problem)
    size = len(base64.b64encode(encode(plan)))
    if size <= LARGEST_OBJECT_BYTES:
        return None
    message = f"the plan for {plan.targeted} nodes would take {size} bytes, {LARGEST_OBJECT_BYTES} can be stored"
    return give_up(state, reasons.OBJECT_TOO_LARGE, message)


def _too_many(plan: Plan, largest: int) -> str:
    """Say why all Jobs together are more than can be followed, empty where they are not."""
    possible = MOST_SYNC_BYTES // (2 * largest + ROOM_A_JOB_BYTES)
    if len(plan.groups) <= possible:
        return ""
    return (
        f"{len(plan.groups)} groups, each with a Job of {largest} bytes, are more than can be followed at a time: "
        f"about {possible} are possible; let a group have more nodes, or divide the nodes among several runs"
    )


def _job(state: State, dependencies: tuple[JsonObject, ...]) -> dict[str, Any]:
    job = state.draft.job
    if not dependencies:
        return job
    return {**job, "spec": {**job["spec"], "dependencies": list(dependencies)}}


def _largest_job(plan: Plan, identity: RunIdentity) -> tuple[int, int]:
    """Return number and size of the largest Job, its second copy of the node names in the annotation included."""
    number = max(range(len(plan.groups)), key=lambda group: sum(map(len, plan.groups[group].nodes)))
    job = render_job(plan, identity, identity.name, number, plan.iterations)
    annotation = job["metadata"].get("annotations", {}).get(ANNOTATION_GROUP_NODES, "")
    return number, len(msgspec.json.encode(job)) + len(annotation)


def _requirements(state: State) -> list[JsonObject]:
    """Return what nodes of an unpinned group must carry: the target's selectors and the products that were chosen."""
    target = state.orchestration.target
    labels = {LABEL_GPU_PRESENT: "true", **(target.node_selector or {})}
    wanted: list[JsonObject] = [{"key": key, "operator": "In", "values": [labels[key]]} for key in sorted(labels)]
    wanted += [requirement.to_dict() for requirement in target.match_expressions or ()]
    products = products_of(state.selection.kept)
    wanted += [{"key": LABEL_GPU_PRODUCT, "operator": "In", "values": list(products)}] if products else []
    if target.node_names:
        names = [hostname(node) for node in state.selection.kept]
        wanted.append({"key": LABEL_HOSTNAME, "operator": "In", "values": names})
    return [requirement for number, requirement in enumerate(wanted) if requirement not in wanted[:number]]


def _has_room_for_two(state: State) -> bool:
    """Tell whether two workers would fit onto one node, so that the scheduler must be kept from putting them there."""
    needed = min(state.needed_gpus, _requested(state))
    return needed == 0 or any(offered(node, GPU) >= 2 * needed for node in state.selection.kept)


def _requested(state: State) -> int:
    """Return the GPUs that a worker requests after all overrides, the smallest number where several are named."""
    jobs = state.draft.runtime["spec"]["template"]["spec"]["replicatedJobs"]
    pods = [pod_of(job) for job in jobs if job["name"] == WORKER]
    containers = [one for pod in pods for one in pod.get("containers") or () if one["name"] == WORKER]
    trainer = state.draft.job["spec"]["workload"]["trainJob"]["trainer"]
    given = [*(one.get("resources") or {} for one in containers), trainer.get("resourcesPerNode") or {}]
    return min((whole_units(amount) for resources in given for amount in named_gpus(resources)), default=0)
