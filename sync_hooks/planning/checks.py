"""Steps that check what overrides have left, and settle what every pod gets: tolerations, and a place in our patch."""

from __future__ import annotations

from dataclasses import replace

from sync_hooks.api.observed import Node
from sync_hooks.api.trainer import (
    PATCH_MANAGER,
    TRAINER_GROUP,
    TRAINING_RUNTIME,
    VOLUME_CLAIM,
    JsonObject,
    kind_of,
    name_of,
)
from sync_hooks.cluster import reasons as node_reasons
from sync_hooks.cluster.nodes import exclude
from sync_hooks.cluster.tolerations import first_untolerated
from sync_hooks.planning import reasons
from sync_hooks.planning.gang import conflict, restore_queue
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State, give_up, tell_excluded
from sync_hooks.planning.tolerations import asked_for, of_pods


def check_references(state: State) -> State | Unplannable:
    """Make sure that the Job still names this run's runtime and a checkpoint claim that exists."""
    spec = state.draft.job["spec"]
    reference = spec["workload"]["trainJob"]["runtimeRef"]
    wanted = (TRAINING_RUNTIME[1], name_of(state.draft.runtime))
    if (reference["kind"], reference["name"]) != wanted:
        message = f"runtimeRef must stay {wanted[0]} {wanted[1]}, an override makes it {reference['kind']} "
        return give_up(state, reasons.OVERRIDE_ERROR, message + reference["name"])
    if (group := reference.get("apiGroup", TRAINER_GROUP)) != TRAINER_GROUP:
        message = f"runtimeRef.apiGroup must stay {TRAINER_GROUP}, an override makes it {group}"
        return give_up(state, reasons.OVERRIDE_ERROR, message)
    claims = {name_of(known) for known in state.draft.objects if kind_of(known) == VOLUME_CLAIM}
    checkpoint = spec.get("checkpoint")
    if checkpoint and checkpoint["pvcName"] not in claims:
        message = f"checkpoint.pvcName is {checkpoint['pvcName']}, and no PersistentVolumeClaim of that name is planned"
        return give_up(state, reasons.CHECKPOINT_CLAIM_MISSING, message)
    return state


def check_gang(state: State) -> State | Unplannable:
    """Make sure that the gang scheduler still gets every pod."""
    job = restore_queue(state.draft.job, state.spec)
    if isinstance(job, str):
        return give_up(state, reasons.GANG_SCHEDULING_CONFLICT, job)
    problem = conflict(state.draft.runtime, job["spec"]["workload"]["trainJob"], state.spec)
    if problem:
        return give_up(state, reasons.GANG_SCHEDULING_CONFLICT, problem)
    return replace(state, draft=replace(state.draft, job=job))


def check_apis(state: State) -> State | Unplannable:
    """Make sure that the cluster serves the kinds that are needed."""
    missing = sorted({kind_of(known) for known in state.draft.objects} & state.absent_kinds)
    if not missing:
        return state
    api_version, kind = missing[0]
    where = f"{state.platform} {state.architecture}"
    message = f"{where} needs {kind} ({api_version}), and this cluster does not serve it"
    return give_up(state, reasons.FABRIC_RESOURCE_MISSING, message)


def settle_tolerations(state: State) -> State | Unplannable:
    """Fix what pods tolerate, and leave out nodes that were kept for an override's sake which did not match."""
    target, rendered = state.orchestration.target, (state.draft.runtime, state.draft.job)
    asked = asked_for(target, rendered)

    def judge(node: Node) -> str | None:
        taint = first_untolerated(node.spec.taints, asked)
        return node_reasons.untolerated(taint) if taint else None

    selection = exclude(state.selection, judge)
    pods = of_pods(state.spec, target, rendered, unpinned=state.orchestration.unpinned)
    state = replace(state, selection=selection, tolerations=tuple(pods))
    if selection.kept:
        return state
    message = f"no node can run this: {tell_excluded(selection.excluded)}"
    return give_up(state, reasons.NODE_DISCOVERY_ERROR, message, wait=True)


def patch_everywhere(state: State) -> State | Unplannable:
    """Name every replicatedJob in our runtimePatch, and let it be the last.

    What is not named there is neither pinned nor labelled; what a later patch says takes the place of our pins.
    """
    job = state.draft.job
    train_job = job["spec"]["workload"]["trainJob"]
    names = [one["name"] for one in state.draft.runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    patches = train_job.get("runtimePatches") or []
    ours = next((patch for patch in patches if patch["manager"] == PATCH_MANAGER), {"manager": PATCH_MANAGER})
    changed = _with_names(ours, names)
    others = [patch for patch in patches if patch is not ours]
    workload = {**job["spec"]["workload"], "trainJob": {**train_job, "runtimePatches": [*others, changed]}}
    return replace(state, draft=replace(state.draft, job={**job, "spec": {**job["spec"], "workload": workload}}))


def _with_names(patch: JsonObject, names: list[str]) -> JsonObject:
    spec = patch.get("trainingRuntimeSpec") or {}
    template = spec.get("template") or {}
    job_set = template.get("spec") or {}
    known = {job["name"]: job for job in job_set.get("replicatedJobs") or ()}
    jobs = [known.pop(name, {"name": name}) for name in names] + list(known.values())
    changed = {**template, "spec": {**job_set, "replicatedJobs": jobs}}
    return {**patch, "trainingRuntimeSpec": {**spec, "template": changed}}
