"""Last step: the plan as a whole."""

from __future__ import annotations

from typing import Any

from sync_hooks.api.names import GPU, job_prefix
from sync_hooks.api.trainer import CONFIG_MAP, JsonObject, kind_of
from sync_hooks.cluster.nodes import LABEL_GPU_PRESENT, LABEL_GPU_PRODUCT, LABEL_HOSTNAME, hostname
from sync_hooks.cluster.platform import products_of
from sync_hooks.cluster.resources import offered
from sync_hooks.cluster.scheduling import required_terms
from sync_hooks.planning.amounts import requests
from sync_hooks.planning.plan import Plan
from sync_hooks.planning.requests import worker_of
from sync_hooks.planning.state import State


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


def _job(state: State, dependencies: tuple[JsonObject, ...]) -> dict[str, Any]:
    job = state.draft.job
    if not dependencies:
        return job
    return {**job, "spec": {**job["spec"], "dependencies": list(dependencies)}}


def _requirements(state: State) -> list[JsonObject]:
    """Return what nodes of an unpinned group must carry: the target's selectors and the products that were chosen."""
    target = state.orchestration.target
    labels = {LABEL_GPU_PRESENT: "true", **(target.node_selector or {})}
    wanted: list[JsonObject] = [{"key": key, "operator": "In", "values": [labels[key]]} for key in sorted(labels)]
    wanted += [requirement.to_dict() for requirement in target.match_expressions or ()]
    products = products_of(state.selection.kept)
    wanted += [{"key": LABEL_GPU_PRODUCT, "operator": "In", "values": list(products)}] if products else []
    if target.node_names or required_terms(worker_of(state)) is not None:  # ours take the place of the workers' own
        names = [hostname(node) for node in state.selection.kept]
        wanted.append({"key": LABEL_HOSTNAME, "operator": "In", "values": names})
    return [requirement for number, requirement in enumerate(wanted) if requirement not in wanted[:number]]


def _has_room_for_two(state: State) -> bool:
    """Tell whether two workers would fit onto one node, so that the scheduler must be kept from putting them there."""
    needed = min(state.needed_gpus, _requested(state))
    return needed == 0 or any(offered(node, GPU) >= 2 * needed for node in state.selection.kept)


def _requested(state: State) -> int:
    """Return the GPUs that a worker requests after all overrides."""
    return int(requests(worker_of(state)).get(GPU, 0))
