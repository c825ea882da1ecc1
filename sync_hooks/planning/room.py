"""How much room a run takes in one request: Metacontroller sends a Workflow with all its Jobs and all its results.

What does not fit is refused when the run is planned: later nothing could be done about it.
"""

from __future__ import annotations

import base64

import msgspec

from sync_hooks.api.limits import LARGEST_OBJECT_BYTES
from sync_hooks.api.names import ANNOTATION_GROUP_NODES
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity, encode

MOST_SYNC_BYTES = 128_000_000
"""Of all Jobs and results of a Workflow; the hooks take only so much, see `webhook.limits`."""
ROOM_A_JOB_BYTES = 16_000
"""What a Job may have besides twice its spec: metadata of the API server, its status, the end of a log."""

RESULT_BYTES = 500
RESULT_GROUP_BYTES = 120
RESULT_NODE_BYTES = 8
RESULT_PLANS = 3
"""Of a result that tells as little as it can, where every group failed with other figures and blames all its nodes,
as earlier tries did: in all, a group, a node, and the plan once for each place where it names the nodes."""


def stored_bytes(plan: Plan) -> int:
    """Return the bytes of a plan as it is stored."""
    return len(base64.b64encode(encode(plan)))


def result_room(plan: Plan, identity: RunIdentity) -> int:
    """Return the bytes that an iteration's result may take, beside all Jobs and the results of all iterations."""
    left = MOST_SYNC_BYTES - len(plan.groups) * _job_room(largest_job(plan, identity)[1])
    return min(LARGEST_OBJECT_BYTES, max(left, 0) // (2 * plan.iterations))


def largest_job(plan: Plan, identity: RunIdentity) -> tuple[int, int]:
    """Return number and size of the largest Job, its second copy of the node names in the annotation included."""
    number = max(range(len(plan.groups)), key=lambda group: sum(map(len, plan.groups[group].nodes)))
    return number, _job_size(plan, identity, number)


def job_of_one_node(plan: Plan, identity: RunIdentity, number: int) -> int:
    """Return the size that a group's Job would have if the group had but its first node."""
    group = plan.groups[number]
    one = msgspec.structs.replace(group, nodes=group.nodes[:1])
    return _job_size(msgspec.structs.replace(plan, groups=(one,)), identity, 0)


def _job_size(plan: Plan, identity: RunIdentity, number: int) -> int:
    job = render_job(plan, identity, identity.name, number, plan.iterations)
    annotation = job["metadata"].get("annotations", {}).get(ANNOTATION_GROUP_NODES, "")
    return len(msgspec.json.encode(job)) + len(annotation)


def too_many(plan: Plan, largest: int, stored: int) -> str:
    """Say why all Jobs and results are more than can be followed, empty where they are not.

    ``largest`` is the size of the largest Job, ``stored`` that of the plan.
    """
    groups, job = len(plan.groups), _job_room(largest)
    least = min(least_result(plan, stored), LARGEST_OBJECT_BYTES)
    if groups * job + 2 * plan.iterations * least <= MOST_SYNC_BYTES:
        return ""
    fewer = (MOST_SYNC_BYTES - groups * job) // (2 * least)
    iterations = f"about {fewer} iterations are possible, or " if fewer > 0 else ""
    times = f" in {plan.iterations} iterations" if plan.iterations > 1 else ""
    return (
        f"{groups} groups{times}, each with a Job of {largest} bytes, and results of up to {least} bytes an iteration "
        f"are more than can be followed at a time: {iterations}about {_possible_groups(plan, job, stored)} groups are "
        "possible; let a group have more nodes, or divide the nodes among several runs"
    )


def least_result(plan: Plan, stored: int) -> int:
    """Return the bytes that an iteration's result takes where all goes wrong and no more is told than has to be."""
    nodes = max(sum(len(group.nodes) for group in plan.groups), len(plan.candidates))
    groups = len(plan.groups) * RESULT_GROUP_BYTES + nodes * RESULT_NODE_BYTES
    return RESULT_BYTES + groups + RESULT_PLANS * stored


def _possible_groups(plan: Plan, job: int, stored: int) -> int:
    """Return how many groups of this kind there is room for in as many iterations."""
    empty = msgspec.structs.replace(plan, groups=(), hostnames={}, exclusions=())
    fixed = least_result(empty, stored_bytes(empty))
    a_group = (least_result(plan, stored) - fixed) / len(plan.groups)
    whole = MOST_SYNC_BYTES - 2 * plan.iterations * fixed
    return max(int(whole * 95 / 100 / (job + 2 * plan.iterations * a_group)), 0)  # few names are packed less tightly


def _job_room(size: int) -> int:
    return 2 * size + ROOM_A_JOB_BYTES
