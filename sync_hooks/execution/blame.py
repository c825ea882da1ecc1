"""Who is to blame for a failed workload, and what its log says.

The first worker that failed names its node, unless the launcher had failed before or all workers ended alike; else a
host that mpirun names; else the workers that never started while others did; never the launcher's node. Who failed
while another one had not started may have waited for that one. Where nobody can be named the whole group is failed,
saying so. A pod that was preempted or evicted through the API blames nobody, nor does an image, a configuration or a
command that no worker can be started with, nor a launcher that was not started, was evicted, killed for its memory, or
had no program to start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sync_hooks.api.job import FailureLog
from sync_hooks.api.observed import Condition, ContainerStatus, Log, Pod, TerminatedState
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import ReadLog, Unreadable
from sync_hooks.api.time import parse_rfc3339, seconds_between
from sync_hooks.api.trainer import ANCESTOR_TRAINER, LABEL_ANCESTOR, WORKER
from sync_hooks.execution.mpirun import named_by_mpirun, not_launched
from sync_hooks.execution.phase import is_launcher, place_of
from sync_hooks.execution.starting import NOT_STARTED, can_start_nowhere, has_run, main_container, main_status, statuses
from sync_hooks.execution.unfailed import at_the_end, left_behind, refused, stuck, unstarted, waited_for

WORKLOAD_FAILED = "WorkloadFailed"
TIMED_OUT = "JobTimedOut"
STALLED = "WorkloadStalled"
CREATION_ERROR = "WorkloadCreationError"
RAN_AND_FAILED = frozenset({WORKLOAD_FAILED, TIMED_OUT, STALLED})  # any other failure is not the nodes'
UNKNOWN_EXIT_CODE = -1
TAIL_LINES = 800
TAIL_BYTES = 8 << 10  # a hundred lines: every sync of a Workflow carries those of all its failed Jobs
MOST_MESSAGE = 500  # characters; a container runtime says the cause at the end, behind the names of its layers
KILLED = (137, 143)  # SIGKILL and SIGTERM: what the others of a failed group usually die of
CRASHED = (132, 135, 136, 139)  # SIGILL, SIGBUS, SIGFPE and SIGSEGV; SIGABRT is how a watchdog ends a rank
OUT_OF_MEMORY = "OOMKilled"
EVICTED = "Evicted"  # by the kubelet, for want of a resource; who evicts through the API leaves no reason
PREEMPTED = "Preempting"  # by the kubelet, for a pod of the system
NO_ROOM = "OutOf"  # begins the kubelet's word where another pod has taken what the scheduler had seen free
NOT_THE_NODES_FAULT = ("PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager", "DeletionByPodGC")

NO_COMMAND = (126, 127)  # a shell's words for a command that cannot be run, and for one that is not there
OVERTIME = 124  # of timeout(1), which mpirun is started with
SOONEST_TO_GIVE_UP_SECONDS = 20  # for so long NCCL tries a peer that refuses; what takes less is a worker's own failure
ALIKE_SECONDS = 3  # peers of a failed rank need the network's time to notice; times are whole seconds of several clocks


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed pod: which container, how it ended."""

    pod: Pod
    container: str
    exit_code: int
    reason: str
    finished_at: str
    message: str = ""
    """What the runtime, or the container itself, says of its end; one line."""

    @property
    def only_killed(self) -> bool:
        """Somebody else ended it. Who was killed for its memory, or evicted by its node, is a cause."""
        return self.exit_code in KILLED and self.reason != OUT_OF_MEMORY and not self.pod.status.reason

    @property
    def order(self) -> tuple[bool, str]:
        """Who failed first: causes before those that were only killed, then by time (RFC 3339 sorts as text)."""
        return self.only_killed, self.finished_at

    @property
    def text(self) -> str:
        """One line for people."""
        where = f"pod {self.pod.name}" + (f" on node {self.pod.spec.node_name}" if self.pod.spec.node_name else "")
        if self.exit_code == UNKNOWN_EXIT_CODE:
            return f"{where}: {self.reason} {self.pod.status.message}".rstrip()
        status = self.pod.status
        why = f"{status.reason} {status.message}".rstrip() if status.reason else self.message
        told = f": {why}" if why else ""
        return f"{where}: container {self.container} exited with {self.exit_code} ({self.reason}){told}"

    @property
    def no_program(self) -> bool:
        """The image has no such program, or it is none."""
        return self.exit_code in NO_COMMAND or self.not_started_for_program

    @property
    def not_started_for_program(self) -> bool:
        """The container was not even started, for want of its program."""
        return self.reason in NOT_STARTED and can_start_nowhere(self.message)


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is blamed: Node (the named ones), Group (all of it) or None (nobody)."""

    attribution: str
    nodes: tuple[FailedNode, ...] = ()
    message: str = ""


def failures(pods: Sequence[Pod]) -> tuple[Failure, ...]:
    """Return the failed pods, the first to fail first; those that were only killed come last."""
    found = [failure for pod in pods if (failure := _failure(pod)) is not None and not _got_over(pod, pods)]
    return tuple(sorted(found, key=lambda failure: (*failure.order, failure.pod.name)))


def _got_over(pod: Pod, pods: Sequence[Pod]) -> bool:
    """Tell whether another pod was made in a failed one's place and has run: the workload went on without it."""
    place, made = place_of(pod), pod.metadata.creation_timestamp or ""
    return place is not None and any(
        place_of(other) == place and (other.metadata.creation_timestamp or "") > made and has_run(other)
        for other in pods
        if other is not pod
    )


def _failure(pod: Pod) -> Failure | None:
    """Return how a pod failed: by its workload's own end, else by the first cause among its other containers.

    What else ends in a pod that goes on, or has succeeded, is a sidecar's own affair.
    """
    main = _ended_badly(pod, main_status(pod))
    if main or pod.status.phase != "Failed":
        return main
    others = (_ended_badly(pod, status) for status in statuses(pod))
    ended = [failure for failure in others if failure is not None]
    at = next(filter(None, (item.last_transition_time for item in _disruptions(pod))), "")
    unknown = Failure(pod, main_container(pod), UNKNOWN_EXIT_CODE, pod.status.reason or "PodFailed", at)
    return min(ended, key=lambda failure: failure.only_killed, default=unknown)


def _ended_badly(pod: Pod, status: ContainerStatus) -> Failure | None:
    ended = status.state.terminated
    if ended is None or ended.exit_code == 0:
        return None
    reason, at = ended.reason or "Error", _ended_at(pod, ended)
    return Failure(pod, status.name, ended.exit_code, reason, at, _one_line(ended.message))


def _ended_at(pod: Pod, ended: TerminatedState) -> str:
    """Return when a container ended, as far as the cluster can tell; empty where only a clock says so that is wrong.

    A node whose clock says that a pod began before it was made has another time than its peers.
    """
    if ended.started_at and ended.started_at < (pod.metadata.creation_timestamp or ""):
        return ""
    told = (item.last_transition_time for item in _disruptions(pod))
    return ended.finished_at or next(filter(None, told), None) or ""


def _one_line(message: str) -> str:
    """Bring a message of any shape into one line, cut at its beginning."""
    line = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return line if len(line) <= MOST_MESSAGE else f"...{line[-MOST_MESSAGE:]}"


def hung(pods: Sequence[Pod]) -> Failure | None:
    """Return the pod whose log tells most of a workload that did not end: the trainer step's, else the first."""
    telling = sorted(pods, key=lambda pod: (pod.labels.get(LABEL_ANCESTOR) != ANCESTOR_TRAINER, pod.name))
    return Failure(telling[0], main_container(telling[0]), UNKNOWN_EXIT_CODE, "Timeout", "") if telling else None


def failed_by_itself(pod: Pod) -> bool:
    """Tell whether a pod failed for a cause of its own or of its node: no drain ends a container so.

    The kubelet of a node that is shut down ends pods too, with another reason than for want of a resource.
    """
    failure = _failure(pod)
    own = failure is not None and failure.exit_code not in (UNKNOWN_EXIT_CODE, *KILLED)
    return pod.status.reason == EVICTED or own or (failure is not None and failure.reason == OUT_OF_MEMORY)


def blame(
    failed: Sequence[Failure],
    pods: Sequence[Pod],
    nodes: Sequence[str],
    tail: str,
    hosts: Mapping[str, str],
    *,
    workers: int = 0,
    lacking: str = "",
) -> Blame:
    """Judge who failed a group that ran on ``nodes``, as far as they are known; ``workers`` were to run, 0 for as many.

    ``tail`` is the end of the launcher's log, empty without one; ``hosts`` tells the node of each worker's host name.
    ``lacking`` says which workers had not started until the end, empty where all had, or only the pods can tell.
    """
    size, own = workers or len(nodes), _before_the_launcher(failed)
    nobody = _disturbed(failed, pods) or _wrong_command(failed, own, pods, size) or refused(pods)
    if nobody:
        return Blame("None", (), nobody)
    earliest = next(iter((*own, *failed)), None)
    lacking = _lacking(pods, size, lacking) if earliest and _may_have_waited(earliest) else ""
    first = waited_for(pods, earliest.finished_at) if earliest and lacking else _first_to_fail(own, size)
    named = first or named_by_mpirun({**{node: node for node in nodes}, **hosts}, tail)
    if not named and not own and (launchers := _launchers_own(failed, tail)):
        return Blame("None", (), launchers)
    if not named and lacking:
        return Blame("None", (), f"{failed[0].text}; not all workers had started: {lacking}")
    named = named or stuck(pods) or ({} if failed else left_behind(pods))
    if named and (len(named) < size or size < 2):
        blamed = [FailedNode(name=name, reason=WORKLOAD_FAILED, message=text) for name, text in sorted(named.items())]
        return Blame("Node", tuple(blamed), blamed[0].message)
    text = failed[0].text if failed else at_the_end(pods)
    return Blame("Group", (), f"the failure could not be attributed to one node: {text}")


def _lacking(pods: Sequence[Pod], size: int, seen: str) -> str:
    """Say which worker had not started, by the pods, or as it was ``seen`` last where not all of them are left."""
    nodes = {pod.spec.node_name for pod in pods if not is_launcher(pod)}
    return unstarted(pods) or (seen if len(nodes) < size else "")


def _may_have_waited(failure: Failure) -> bool:
    """Tell whether a container may have given up a peer that had not started: no crash is that, nor a quick end."""
    if failure.exit_code in CRASHED or failure.reason == OUT_OF_MEMORY or failure.pod.status.reason:
        return False
    ended, end = main_status(failure.pod).state.terminated, parse_rfc3339(failure.finished_at)
    ran = seconds_between(ended.started_at, end) if ended is not None and end is not None else None
    return ran is None or ran >= SOONEST_TO_GIVE_UP_SECONDS


def ended_by_limit(pods: Sequence[Pod]) -> bool:
    """Tell whether the launcher ended as one whose time is over."""
    return any(failure.exit_code == OVERTIME for failure in failures(pods) if is_launcher(failure.pod))


def _before_the_launcher(failed: Sequence[Failure]) -> list[Failure]:
    """Leave out workers that died after the launcher: JobSet removes them then, or their sshd loses its peer.

    Of whom nobody knows when it ended, the launcher's log may tell.
    """
    ends = [failure.finished_at for failure in failed if is_launcher(failure.pod) and failure.finished_at]
    workers = [failure for failure in failed if not is_launcher(failure.pod) and failure.pod.spec.node_name]
    return [failure for failure in workers if not ends or "" < failure.finished_at <= min(ends)]


def _disturbed(failed: Sequence[Failure], pods: Sequence[Pod]) -> str | None:
    """Say which pod the cluster took away, unless another one had failed by itself before."""
    own = [failure for failure in failed if not failure.only_killed and not _disturbance(failure.pod)]
    first = min((failure.finished_at for failure in own if failure.finished_at), default="")
    for pod in pods:
        text = _disturbance(pod)
        if text and not (first and first < disturbed_at(pod)):
            return text
    return None


def _wrong_command(failed: Sequence[Failure], workers: Sequence[Failure], pods: Sequence[Pod], size: int) -> str | None:
    """Say that the launcher could not run its command, before any worker failed, or none of the workers could.

    Workers that were not started for want of their program need not be all: the first one's end ends the others, which
    may still have pulled the image. One that has run shows that the program is there.
    """
    wrong = [failure for failure in failed if failure.no_program]
    launcher = [failure for failure in wrong if is_launcher(failure.pod)]
    if launcher and not workers:
        return launcher[0].text
    own = [failure for failure in wrong if failure in workers]
    if _are_all(own, size):
        return own[0].text
    unstarted = [failure for failure in own if failure.not_started_for_program]
    return unstarted[0].text if unstarted and not any(has_run(pod) for pod in pods if not is_launcher(pod)) else None


def _launchers_own(failed: Sequence[Failure], tail: str) -> str | None:
    """Say what ended a launcher that tells nothing of the workers: its own start or end, or that it started nothing."""
    launcher = next((failure for failure in failed if is_launcher(failure.pod)), None)
    if launcher is None:
        return None
    if launcher.reason in (OUT_OF_MEMORY, *NOT_STARTED) or launcher.pod.status.reason:
        return launcher.text
    sentence = not_launched(tail)
    return f"{launcher.text}; {sentence}" if sentence else None


def _alike(workers: Sequence[Failure], size: int) -> bool:
    """Tell whether all workers of a group ended with the same code at nearly the same time: who was first is chance."""
    ends = [parse_rfc3339(failure.finished_at) for failure in workers]
    known = [end for end in ends if end is not None]
    if size < 2 or len(known) < len(ends) or not _are_all(workers, size):
        return False
    same = len({failure.exit_code for failure in workers}) == 1
    return same and (max(known) - min(known)).total_seconds() <= ALIKE_SECONDS


def _are_all(workers: Sequence[Failure], size: int) -> bool:
    return bool(workers) and len({failure.pod.spec.node_name for failure in workers}) >= size


def _first_to_fail(workers: Sequence[Failure], size: int) -> dict[str, str]:
    if not workers or _alike(workers, size) or _are_unordered(workers):
        return {}
    first = workers[0]
    return {failure.pod.spec.node_name: failure.text for failure in workers if failure.order == first.order}


def _are_unordered(workers: Sequence[Failure]) -> bool:
    """Tell whether nobody knows which of several nodes failed first: of one of them no time is known."""
    likely = [failure for failure in workers if failure.only_killed == workers[0].only_killed]
    unknown = any(not failure.finished_at for failure in likely)
    return unknown and len({failure.pod.spec.node_name for failure in likely}) > 1


def worker_hosts(jobset: str, nodes: Mapping[int, str]) -> dict[str, str]:
    """Tell the node of each worker by its host name, as JobSet makes it; ``nodes`` are by the workers' numbers."""
    return {f"{jobset}-{WORKER}-0-{index}": node for index, node in nodes.items()}


def disturbed_at(pod: Pod) -> str:
    """Return when a pod was taken away or killed (RFC 3339), empty where nothing tells."""
    moments = [item.last_transition_time for item in _disruptions(pod)]
    failure = _failure(pod)
    return next(filter(None, moments), None) or (failure.finished_at if failure else "")


def is_touched(pod: Pod) -> bool:
    """Tell whether a pod was taken away, or has failed in whatever way."""
    return bool(_disruptions(pod)) or _failure(pod) is not None


def _disruptions(pod: Pod) -> list[Condition]:
    return [item for item in pod.status.conditions if item.type == "DisruptionTarget" and item.status == "True"]


def _disturbance(pod: Pod) -> str | None:
    for condition in _disruptions(pod):
        if condition.reason in NOT_THE_NODES_FAULT:
            return f"pod {pod.name} was removed: {condition.reason} {condition.message}".rstrip()
    if pod.status.reason == PREEMPTED or pod.status.reason.startswith(NO_ROOM):
        return f"pod {pod.name} was refused its place: {pod.status.reason} {pod.status.message}".rstrip()
    return None


def log_read(failure: Failure) -> ReadLog:
    """Return the read of the end of the failed container's log."""
    metadata = failure.pod.metadata
    return ReadLog(metadata.namespace, metadata.name, failure.container, limit_bytes=1 << 20, tail_lines=TAIL_LINES)


def failure_log(failure: Failure | None, log: Log | Unreadable | None) -> FailureLog:
    """Write down the end of the failed container's log, or why there is none."""
    if failure is None:
        return FailureLog(pod_name="", reason="PodNotFound", tail="no failed pod was found: its log is gone")
    unreadable = log.reason if isinstance(log, Unreadable) else "the log was not read"
    content = log.content[-TAIL_BYTES:].decode(errors="replace") if isinstance(log, Log) else f"({unreadable})"
    content = content if isinstance(log, Log) and log.content else f"{failure.message}\n{content}".strip()
    return FailureLog(
        pod_name=failure.pod.name,
        node_name=failure.pod.spec.node_name or None,
        container=failure.container or None,
        exit_code=None if failure.exit_code == UNKNOWN_EXIT_CODE else failure.exit_code,
        reason=failure.reason,
        tail="".join(char if char.isprintable() or char in "\n\t" else "�" for char in content),
    )
