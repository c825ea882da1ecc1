"""A look at the size of everything that a plan stores: what is too large is told with what to do about it."""

from __future__ import annotations

import msgspec

from sync_hooks.api.limits import LARGEST_OBJECT_BYTES
from sync_hooks.api.trainer import kind_of, name_of
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning import reasons
from sync_hooks.planning.plan import Plan, Unplannable
from sync_hooks.planning.room import job_of_one_node, largest_job, stored_bytes, too_many
from sync_hooks.planning.state import State, give_up

MOST_PARTS = 3  # of a spec in one message
LEAST_PART = 10  # percent of a spec: smaller parts are not what makes it large


def check_sizes(state: State, plan: Plan) -> Unplannable | None:
    """Return why something that the plan makes could never be stored; None where all of it can."""
    for known in (*((plan.runtime,) if plan.runtime else ()), *plan.shared):
        size = len(msgspec.json.encode(known))
        if size > LARGEST_OBJECT_BYTES:
            message = f"{kind_of(known)[1]} {name_of(known)} would take {size} bytes, {_possible(state.spec)}"
            return give_up(state, reasons.OBJECT_TOO_LARGE, message)
    number, size = largest_job(plan, state.identity)
    if size > LARGEST_OBJECT_BYTES:
        return _too_large_a_job(state, plan, number, size)
    stored = stored_bytes(plan)
    if problem := too_many(plan, size, stored):
        return give_up(state, reasons.TOO_MANY_GROUPS, problem)
    if stored <= LARGEST_OBJECT_BYTES:
        return None
    message = f"the plan for {plan.targeted} nodes would take {stored} bytes, {LARGEST_OBJECT_BYTES} can be stored"
    return give_up(state, reasons.OBJECT_TOO_LARGE, message)


def _too_large_a_job(state: State, plan: Plan, number: int, size: int) -> Unplannable:
    """Blame the nodes that a Job names only where fewer of them would do."""
    count = len(plan.groups[number].nodes)
    least = job_of_one_node(plan, state.identity, number)
    if count < 2 or least > LARGEST_OBJECT_BYTES:
        message = f"a Job would take {least} bytes however few nodes its group has, {_possible(state.spec)}"
        return give_up(state, reasons.OBJECT_TOO_LARGE, message)
    room = LARGEST_OBJECT_BYTES * 95 // 100 - least  # names differ in length
    possible = 1 + max(0, room * (count - 1) // (size - least))
    message = (
        f"a Job that names the {count} nodes of group {number} would take {size} bytes, "
        f"{LARGEST_OBJECT_BYTES} can be stored: set numNodes to at most about {possible}"
    )
    return give_up(state, reasons.GROUP_TOO_LARGE, message)


def _possible(spec: WorkloadRunSpec) -> str:
    """Say how much is possible, and which parts of the run are worth making smaller."""
    sizes = {name: len(msgspec.json.encode(part)) for name, part in spec.to_dict().items()}
    large = [name for name in sizes if sizes[name] * 100 >= LEAST_PART * sum(sizes.values())]
    named = sorted(large, key=lambda name: (-sizes[name], name))[:MOST_PARTS]
    parts = " and ".join(f"spec.{name} ({sizes[name]} bytes)" for name in named)
    return (
        f"{LARGEST_OBJECT_BYTES} can be stored: make {parts} smaller, "
        "for example by keeping long texts in the image or on a volume"
    )
