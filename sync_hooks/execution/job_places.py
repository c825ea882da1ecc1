"""Where the workers of a Job are and since when all its pods run, written down while they are there to be seen.

No gap among the workers is closed: nodes are blamed by the number of a worker.
"""

from __future__ import annotations

from collections.abc import Sequence

from sync_hooks.api.job import JobSpec, JobStatus
from sync_hooks.api.observed import Pod
from sync_hooks.execution.phase import is_going, is_live, is_worker, jobset_uid, started_at, worker_index
from sync_hooks.execution.planned import planned

MOST_PLACES = 1000  # workers of which a status has room for the nodes


def note_places(spec: JobSpec, status: JobStatus, pods: tuple[Pod, ...], *, complete: bool = True) -> JobStatus:
    """Write down whose the pods are, when they had all started, and the node of each worker: JobSet removes workers.

    No clock starts while the pods are not ``complete``. Pods that are all being deleted tell only whose they are: they
    may be from before a suspension.
    """
    if not pods:
        return status
    status = of_jobset(status, jobset_uid(pods[0]))
    started = [started_at(pod) for pod in pods if not is_going(pod)]
    if not started:
        return status
    update: dict[str, object] = {}
    if complete and all(started):
        update["workload_start_time"] = status.workload_start_time or max(map(str, started))
    if places := _places(planned(spec).nodes, pods):
        update["nodes"] = places
    return status.model_copy(update=update)


def of_jobset(status: JobStatus, uid: str) -> JobStatus:
    """Note which JobSet is the TrainJob's; where the workers of an earlier one ran says nothing of its own."""
    known = status.nodes if uid == (status.jobset_uid or uid) else None
    return status.model_copy(update={"jobset_uid": uid, "nodes": known})


def _places(workers: int | None, pods: Sequence[Pod]) -> list[str]:
    """Return the node of each worker in their order, empty while one is not known; of one number the latest pod counts.

    Nodes are blamed by the number of a worker, so that no gap may be closed.
    """
    latest = places_of(pods)
    expected = range(workers or len(latest))
    nodes = [latest.get(number, "") for number in expected]
    return nodes if len(latest) == len(expected) <= MOST_PLACES and all(nodes) else []


def places_of(pods: Sequence[Pod]) -> dict[int, str]:
    """Return the nodes of the workers that there are by their numbers."""
    ordered = sorted(filter(is_worker, pods), key=lambda pod: (pod.metadata.creation_timestamp or "", is_live(pod)))
    return {worker_index(pod): pod.spec.node_name for pod in ordered}
