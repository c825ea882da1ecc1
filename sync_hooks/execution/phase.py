"""The phase of a workload: from its TrainJob, the JobSet's owner and its pods.

A terminal condition counts only where it is this TrainJob's own: Trainer finds JobSets by name and would copy the end
of an earlier one. One that seems older than the TrainJob may be its own where clocks differ: its JobSet tells. What is
queued, cannot be scheduled or has not started is Pending: no clock runs for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from sync_hooks.api.observed import Condition, LiveObject, Pod
from sync_hooks.api.request import TrainJobChild, TrainJobStatus
from sync_hooks.api.time import parse_rfc3339
from sync_hooks.api.trainer import LABEL_REPLICATED_JOB, LAUNCHER, WORKER
from sync_hooks.execution.starting import has_run, main_status, statuses
from sync_hooks.measurements.pods import COMPLETION_INDEX, JOB_INDEX, JOBSET_UID

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

JOBSET_ENDS = {"Failed": "Failed", "Complete": "Completed"}
"""The terminal conditions of a TrainJob, and the JobSet's that they are copied from."""
STARTING = "WorkloadStarting"
LAUNCHER_STARTING = "LauncherStarting"  # every worker runs
SUSPENDED = "WorkloadSuspended"
UNSCHEDULABLE = "WorkloadUnschedulable"
RUNS = "WorkloadRunning"
HELD_UP = "WorkloadHeldUp"
COMPLETION_PENDING = "CompletionPending"  # the pods have succeeded; JobSet and Trainer have not told so
SIDECAR_RUNNING = "SidecarRunning"  # the workload has succeeded; what was put beside it keeps its pods from ending


@dataclass(frozen=True, slots=True)
class Workload:
    """What the workload does, why, and since when (RFC 3339)."""

    phase: str
    reason: str
    message: str
    started: str | None = None
    ended: str | None = None


def terminal_condition(train_job: TrainJobChild) -> Condition | None:
    """Return Failed or Complete where it is True and not older than the TrainJob itself."""
    created = parse_rfc3339(train_job.metadata.creation_timestamp or "")
    for condition in _terminal(train_job):
        moment = parse_rfc3339(condition.last_transition_time or "")
        if created is None or moment is None or moment >= created:
            return condition
    return None


def doubtful_condition(train_job: TrainJobChild) -> Condition | None:
    """Return Failed or Complete where it is True and seems older than the TrainJob: a clock may be behind."""
    return next(iter(_terminal(train_job)), None) if terminal_condition(train_job) is None else None


def _terminal(train_job: TrainJobChild) -> list[Condition]:
    """Return the terminal conditions that are True, Failed first."""
    told = {item.type: item for item in train_job.status.conditions if item.status == "True"}
    return [told[type_] for type_ in JOBSET_ENDS if type_ in told]


def confirms(jobset: LiveObject, train_job: TrainJobChild, condition: Condition) -> bool:
    """Tell whether a JobSet is the TrainJob's own and has itself ended as the condition says, whatever its time."""
    told = msgspec.convert(jobset.status or {}, TrainJobStatus).conditions
    ends = {item.type for item in told if item.status == "True"}
    return belongs(jobset, train_job) and JOBSET_ENDS[condition.type] in ends


def belongs(jobset: LiveObject | None, train_job: TrainJobChild) -> bool:
    """Tell whether a JobSet of the TrainJob's name is the TrainJob's; one that is gone is no objection."""
    return jobset is None or jobset.metadata.controller_uid() == train_job.metadata.uid


def ended(condition: Condition) -> Workload:
    """Return the phase of a TrainJob with a terminal condition of its own."""
    phase = FAILED if condition.type == "Failed" else SUCCEEDED
    return Workload(phase, condition.reason, condition.message, ended=condition.last_transition_time)


def suspended(train_job: TrainJobChild) -> Workload:
    """Return the phase of a TrainJob that is held back, by Kueue or by hand."""
    texts = [item.message for item in train_job.status.conditions if item.type == "Suspended" and item.status == "True"]
    return Workload(PENDING, SUSPENDED, f"the TrainJob is suspended: {texts[0] if texts else 'queued'}")


def under_way(pods: Sequence[Pod], unmade: Workload | None = None, *, begun: bool = False) -> Workload:
    """Return the phase of a TrainJob that has neither ended nor is held back, from its own pods.

    ``unmade`` says which pods are not there although the workload has not ``begun``, None where none is missing.
    """
    if not pods and begun:
        return Workload(PENDING, STARTING, "its pods are gone: others are made, or the TrainJob will say why")
    if not pods:
        return Workload(PENDING, STARTING, "no pod exists yet: none was made, or quota or PodSecurity refuse them")
    if all(map(is_going, pods)):
        return Workload(PENDING, STARTING, f"all {len(pods)} pods are being deleted")
    blocked = [text for text in map(unschedulable, pods) if text]
    if blocked:
        return Workload(PENDING, UNSCHEDULABLE, blocked[0])
    held = [text for text in map(held_up, pods) if text]
    late = [pod for pod in pods if started_at(pod) is None]
    if late:
        text = f"{len(late)} of {len(pods)} pods are not started, {late[0].name} first{_creating(late[0])}"
        return Workload(PENDING, HELD_UP, held[0]) if held else Workload(PENDING, STARTING, text)
    return unmade or _started(pods, held)


def _started(pods: Sequence[Pod], held: Sequence[str]) -> Workload:
    started = max(started_at(pod) or "" for pod in pods)
    if held:
        return Workload(RUNNING, HELD_UP, held[0], started)
    told = [pod for pod in pods if is_launcher(pod)] or pods
    if all(map(ran_to_the_end, told)):
        who = f"pod {told[0].name}" if len(told) == 1 else f"all {len(told)} pods"
        beside = next((text for pod in told if (text := _beside(pod))), "")
        text = f"{who} ran to the end, and {beside or 'the TrainJob does not say so yet'}"
        reason = SIDECAR_RUNNING if beside else COMPLETION_PENDING
        return Workload(RUNNING, reason, text, started, max(map(_finished_at, told)) or None)
    return Workload(RUNNING, RUNS, f"{len(pods)} pods run", started)


def ran_to_the_end(pod: Pod) -> bool:
    """Tell whether a pod's workload succeeded, although a sidecar may still run."""
    ended = main_status(pod).state.terminated
    return pod.status.phase == "Succeeded" or (ended is not None and ended.exit_code == 0 and is_live(pod))


def _beside(pod: Pod) -> str:
    """Say what still runs in a pod that is not over, empty where it is."""
    runs = [item.name for item in pod.status.container_statuses if item.state.running is not None]
    return f"container {runs[0]} of pod {pod.name} still runs beside it" if is_live(pod) and runs else ""


def started_at(pod: Pod) -> str | None:
    """Return when a pod's workload was started (RFC 3339), None where it was not: its image may still be pulled.

    Never before the pod was made: a node's clock may be hours behind.
    """
    if not pod.status.start_time or (pod.status.phase == "Pending" and not has_run(pod)):
        return None
    state = main_status(pod).state
    began = state.running or state.terminated
    told = (began.started_at if began else None) or pod.status.start_time
    return max(told, pod.metadata.creation_timestamp or "")


def placed_at(pod: Pod) -> str:
    """Return when a pod got its node (RFC 3339), by the scheduler's clock; by the node's where nothing else tells."""
    placed = [item.last_transition_time for item in pod.status.conditions if item.type == "PodScheduled"]
    return next(filter(None, placed), None) or pod.status.start_time or ""


def _creating(pod: Pod) -> str:
    """Return what a pod waits for, as the end of a sentence."""
    if not pod.spec.node_name:
        return ": it has no node yet"
    waiting = (item.state.waiting for item in statuses(pod))
    return next((f": {state.reason}" for state in waiting if state is not None and state.reason), "")


def _finished_at(pod: Pod) -> str:
    """Return when the last container of a pod ended, empty where nothing tells."""
    ends = [status.state.terminated for status in pod.status.container_statuses]
    return max((end.finished_at or "" for end in ends if end is not None), default="")


def own_pods(pods: Sequence[Pod], jobset: LiveObject | None) -> tuple[Pod, ...]:
    """Return the pods that name the JobSet's UID.

    Labels of a name are soon the same by chance, a UID never is. Whoever may create pods in the namespace can copy it.
    """
    if jobset is None:
        return ()
    return tuple(pod for pod in pods if jobset_uid(pod) == jobset.metadata.uid)


def jobset_uid(pod: Pod) -> str:
    """Return the UID of the JobSet that a pod names as its own, empty where it names none."""
    return pod.labels.get(JOBSET_UID, "")


def is_live(pod: Pod) -> bool:
    """Tell whether a pod still holds its node's devices."""
    return pod.status.phase not in ("Succeeded", "Failed")


def is_going(pod: Pod) -> bool:
    """Tell whether a pod is being deleted."""
    return pod.metadata.deletion_timestamp is not None


def is_worker(pod: Pod) -> bool:
    """Tell whether a pod is one of the workers, which have a number each."""
    return pod.labels.get(LABEL_REPLICATED_JOB) == WORKER


def place_of(pod: Pod) -> tuple[str, ...] | None:
    """Return which pod of its JobSet one is, as another made in its place is too; None for one without a number."""
    place = tuple(pod.labels.get(label, "") for label in (LABEL_REPLICATED_JOB, JOB_INDEX, COMPLETION_INDEX))
    return place if place[-1] else None


def is_launcher(pod: Pod) -> bool:
    """Tell whether a pod is the MPI launcher, which is never to blame for its node."""
    return pod.labels.get(LABEL_REPLICATED_JOB) == LAUNCHER


def worker_index(pod: Pod) -> int:
    """Return a worker's number, which its host name ends with; 0 for a pod without."""
    text = pod.labels.get(COMPLETION_INDEX, "")
    return int(text) if text.isdigit() else 0


def unschedulable(pod: Pod) -> str | None:
    """Return the scheduler's words where a pod cannot be placed."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == "Unschedulable":
            return f"pod {pod.name} cannot be scheduled: {condition.message}"
    return None


def held_up(pod: Pod) -> str | None:
    """Return why a container of a placed pod does not start, None where that is ordinary, or its workload runs."""
    if has_run(pod):
        return None
    for status in statuses(pod):
        waiting = status.state.waiting
        if waiting and waiting.reason not in ("", "PodInitializing", "ContainerCreating"):
            return f"pod {pod.name}, container {status.name}: {waiting.reason} {waiting.message}".rstrip()
    return None
