"""What a workload that succeeded got over on its own: restarts that an override allows, by JobSet, of a pod, in a pod.

It changes no verdict. What JobSet has deleted since is not seen: workers of MPI go when their launcher is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sync_hooks.api.observed import Pod
from sync_hooks.execution.phase import place_of
from sync_hooks.execution.starting import statuses
from sync_hooks.measurements.pods import restarts_of


def recoveries(pods: Sequence[Pod]) -> Iterator[str]:
    """Say what was started again, from the pods that are left."""
    if restarts := max(map(restarts_of, pods), default=0):
        yield f"JobSet restarted the workload {_times(restarts)}"
    well = {place_of(pod) for pod in pods if pod.status.phase == "Succeeded"} - {None}
    for pod in sorted(pods, key=lambda known: known.name):
        where = f"pod {pod.name} on node {pod.spec.node_name}"
        if pod.status.phase == "Failed" and place_of(pod) in well:
            yield f"{where} failed, and another took its place"
        for container in statuses(pod):
            if container.restart_count:
                yield f"container {container.name} of {where} was restarted {_times(container.restart_count)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
