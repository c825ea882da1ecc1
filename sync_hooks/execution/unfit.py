"""Nodes that have become unfit since planning: short of a device, or tainted. They are excluded, not blamed.

The scheduler says only that no node fits; it waits as long as it takes for a node that is busy, and would for one that
will never fit again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.observed import Node, Pod
from sync_hooks.api.quantity import whole_units
from sync_hooks.api.results import FailedNode
from sync_hooks.cluster import reasons
from sync_hooks.cluster.tolerations import first_untolerated
from sync_hooks.execution.gone import Known
from sync_hooks.execution.phase import is_going, is_launcher, unschedulable
from sync_hooks.report.nodes import NODE_UNFIT


def unfit_nodes(nodes: Known, pods: Sequence[Pod]) -> tuple[FailedNode, ...]:
    """Name the nodes without a pod of the workload on which none of its waiting pods can ever start, sorted.

    Devices are what a device plugin offers, under names with a slash; what another pod holds is offered all the same.
    """
    blocked = [pod for pod in pods if unschedulable(pod) and not is_going(pod)]
    waiting = [pod for pod in blocked if not is_launcher(pod)] or blocked  # a launcher needs no devices
    taken = {pod.spec.node_name for pod in pods if not is_going(pod)}
    free = {name: node for name, node in sorted(nodes.items()) if node is not None and name not in taken}
    found = {name: [_unfit(node, pod) for pod in waiting] for name, node in free.items()}
    return tuple(
        FailedNode(name=name, reason=NODE_UNFIT, message=f"unfit for the workload: {texts[0]}")
        for name, texts in found.items()
        if texts and all(texts)
    )


def _unfit(node: Node, pod: Pod) -> str | None:
    """Return why a pod can not start on a node whatever else runs there, None where it can."""
    taint = first_untolerated(node.spec.taints, pod.spec.tolerations)
    if taint is not None:
        return reasons.untolerated(taint)
    needs: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, count in container.resources.limits.items():
            needs[name] = needs.get(name, 0) + whole_units(count)
    for name, needed in sorted(needs.items()):
        offers = whole_units(node.status.allocatable.get(name, "0"))
        if "/" in name and offers < needed:
            return reasons.too_few(offers, needed, name)
    return None
