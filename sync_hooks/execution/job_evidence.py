"""Who failed a Job's workload, and the end of its log: read before anything is torn down, then written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sync_hooks.api.conditions import FAILED, HARDWARE_FAILED, find, is_true
from sync_hooks.api.job import FailureLog, JobSpec, JobStatus
from sync_hooks.api.model import Condition
from sync_hooks.api.names import train_job_name
from sync_hooks.api.observed import Log, Pod
from sync_hooks.api.request import Request
from sync_hooks.api.results import FailedNode
from sync_hooks.api.sync import Answer, GetObject, ListPods, Observed, Read, Reads, Unreadable
from sync_hooks.api.trainer import JOBSET_VERSION
from sync_hooks.execution.answers import UNREADABLE_RESYNC_SECONDS
from sync_hooks.execution.blame import (
    RAN_AND_FAILED,
    WORKLOAD_FAILED,
    Blame,
    Failure,
    blame,
    failure_log,
    failures,
    hung,
    log_read,
    worker_hosts,
)
from sync_hooks.execution.gone import Known, gone_nodes, may_have_taken, node_reads, nodes_now, taken_along
from sync_hooks.execution.incomplete import lacking
from sync_hooks.execution.job_answer import answer, group_nodes
from sync_hooks.execution.job_health import HARDWARE_FAILURE, NODE_FAILED, failed_nodes, hardware_failed
from sync_hooks.execution.job_places import MOST_PLACES, note_places, places_of
from sync_hooks.execution.mpirun import named_by_mpirun
from sync_hooks.execution.phase import is_launcher, is_live, jobset_uid, own_pods
from sync_hooks.execution.planned import planned
from sync_hooks.execution.waiting import wait_within

GIVE_UP_SECONDS = 300  # for pods and nodes of a failed workload: without them its whole group is blamed
LOG_GIVE_UP_SECONDS = 60  # for its log: that of a dead node never comes
MOST_NODES = 100  # listed in the status; the annotation has them all


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a workload that has failed. ``unknown`` says why its pods or nodes are not, if so."""

    pods: tuple[Pod, ...] = ()
    nodes: Known = field(default_factory=dict)
    log: Log | Unreadable | None = None
    unknown: str = ""

    @property
    def unreadable(self) -> str:
        """Why a part of it could not be read, empty where all was."""
        return self.unknown or (self.log.reason if isinstance(self.log, Unreadable) else "")

    @property
    def patience(self) -> float:
        """Seconds in which the missing part may still be read."""
        return GIVE_UP_SECONDS if self.unknown else LOG_GIVE_UP_SECONDS

    @property
    def is_blind(self) -> bool:
        """Nobody could see any pod."""
        return bool(self.unknown) and not self.pods

    @property
    def failed(self) -> tuple[Failure, ...]:
        """The failed pods, the first to fail first."""
        return failures(self.pods)

    @property
    def telling(self) -> Failure | None:
        """The pod whose log tells most."""
        return self.failed[0] if self.failed else hung(self.pods)

    @property
    def launcher_tail(self) -> str:
        """The end of the launcher's log, empty where another pod tells more."""
        known = isinstance(self.log, Log) and self.telling and is_launcher(self.telling.pod)
        return self.log.content.decode(errors="replace") if known and isinstance(self.log, Log) else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Who failed a workload: nodes ``broken`` by the Job's own expression, who is blamed, and the end of the log."""

    broken: tuple[FailedNode, ...]
    blame: Blame
    log: FailureLog


def attribute(
    request: Request, spec: JobSpec, status: JobStatus, observed: Observed, now: datetime
) -> JobStatus | Answer:
    """Find out who failed, and keep the end of its log."""
    failure = next(item for item in status.conditions or () if item.type == FAILED)
    if failure.reason not in RAN_AND_FAILED | {HARDWARE_FAILURE}:
        return status.model_copy(update={"attribution": "None", "waiting": None})
    evidence = gather(request, status, observed)
    if isinstance(evidence, Reads):
        return evidence
    if evidence.unreadable:
        text = f"pods and logs of the failed workload are being read: {evidence.unreadable}"
        waiting = wait_within(evidence.patience, status.waiting, "EvidencePending", text, now)
        if waiting is not None:
            new = status.model_copy(update={"waiting": waiting})
            return answer(request, new, resync_after=UNREADABLE_RESYNC_SECONDS)
    return _judged(request, status, find_out(request, spec, status, evidence), now)


def gather(request: Request, status: JobStatus, observed: Observed) -> Evidence | Reads:
    """Return what can be known of the current attempt, or what must be read for it."""
    namespace = request.parent.metadata.namespace
    name = train_job_name(request.parent.metadata.name, status.attempt or 0)
    jobset, pods = GetObject(JOBSET_VERSION, "JobSet", name, namespace), ListPods(namespace, name, fresh=True)
    names = ran_on(request, status)
    wanted: tuple[Read, ...] = (jobset, pods, *node_reads(names))
    if any(read not in observed for read in wanted):
        return Reads(wanted)
    unknown = next((observed[read].reason for read in wanted if isinstance(observed[read], Unreadable)), "")
    if isinstance(observed[jobset], Unreadable) or isinstance(observed[pods], Unreadable):
        return Evidence(nodes=nodes_now(names, observed), unknown=unknown)
    own = own_pods(observed[pods], observed[jobset])
    failed = tuple(pod for pod in own if jobset_uid(pod) == (status.jobset_uid or jobset_uid(pod)))  # none made anew
    return _with_log(Evidence(failed, nodes_now(names, observed), unknown=unknown), observed)


def _with_log(found: Evidence, observed: Observed) -> Evidence | Reads:
    if found.telling is None:
        return found
    read = log_read(found.telling)
    if read not in observed:
        return Reads((read,))
    return replace(found, log=observed[read])


def ran_on(request: Request, status: JobStatus) -> list[str]:
    """Return the nodes of the group: those that it is pinned to, else those that the scheduler chose."""
    return group_nodes(request) or sorted(set(status.nodes or ()))


def find_out(request: Request, spec: JobSpec, status: JobStatus, evidence: Evidence) -> Finding:
    """Judge who failed the current attempt."""
    broken = tuple(status.failed_nodes or ()) or _broken(spec, evidence.nodes)
    gone = gone_nodes(spec, evidence.nodes)
    taken = () if evidence.is_blind else taken_along(gone, evidence.pods)
    unsure = gone if evidence.is_blind else may_have_taken(gone, evidence.pods)
    found = _by_name(broken or taken) or _doubted(_blame(request, spec, status, evidence), unsure)
    return Finding(broken, found, failure_log(evidence.telling, evidence.log))


def _blame(request: Request, spec: JobSpec, status: JobStatus, evidence: Evidence) -> Blame:
    """Judge by the pods, the launcher's log, and what was waited for until the end."""
    name, workers = train_job_name(request.parent.metadata.name, status.attempt or 0), planned(spec).nodes or 0
    known = dict(enumerate(note_places(spec, status, evidence.pods).nodes or ())) | places_of(evidence.pods)
    hosts = worker_hosts(name, {number: node for number, node in known.items() if node})
    found = blame(
        evidence.failed,
        evidence.pods,
        ran_on(request, status),
        evidence.launcher_tail,
        hosts,
        workers=workers,
        lacking=lacking(request, status),
    )
    if found.attribution == "Group" and workers > MOST_PLACES:
        named = named_by_mpirun(worker_hosts(name, dict.fromkeys(range(workers), name)), evidence.launcher_tail)
        return Blame("None", (), f"{named[name]}; nobody knows where it was, of {workers}") if named else found
    return found


def _judged(request: Request, status: JobStatus, finding: Finding, now: datetime) -> JobStatus:
    if finding.broken:
        status = hardware_failed(status, finding.broken, now)
    update = {
        "conditions": _explained(status, finding.blame),
        "attribution": finding.blame.attribution,
        "failed_nodes": _blamed(request, status, finding.blame) or None,
        "failure_log": finding.log,
        "waiting": None,
    }
    return status.model_copy(update=update)


def look_again(
    spec: JobSpec, status: JobStatus, pods: Sequence[Pod], observed: Observed, now: datetime
) -> JobStatus | Reads:
    """Blame the node of a pod that does not go instead, where it is seen to have failed only by now.

    Its peers notice in seconds, and fail; that a node is NotReady the cluster says after the better part of a minute.
    """
    failure = find(status.conditions or (), FAILED)
    left = [pod for pod in pods if is_live(pod) and jobset_uid(pod) == (status.jobset_uid or jobset_uid(pod))]
    names = sorted({pod.spec.node_name for pod in left if pod.spec.node_name})
    if failure is None or failure.reason not in RAN_AND_FAILED or is_true(status.conditions or (), HARDWARE_FAILED):
        return status
    wanted = node_reads(names)
    if any(read not in observed for read in wanted):
        return Reads(wanted)
    broken = _broken(spec, nodes_now(names, observed))
    found = _by_name(broken)
    if found is None:
        return status
    new = hardware_failed(status, broken, now)
    return new.model_copy(update={"conditions": _explained(new, found), "attribution": found.attribution})


def _broken(spec: JobSpec, nodes: Known) -> tuple[FailedNode, ...]:
    """Name the nodes that have failed by the Job's own expression."""
    if spec.node_health_monitor is None:
        return ()
    found = failed_nodes(spec.node_health_monitor.cel.expression, nodes.values())
    if isinstance(found, str):
        return ()
    return tuple(FailedNode(name=name, reason=HARDWARE_FAILURE, message=NODE_FAILED) for name in found)


def _by_name(nodes: tuple[FailedNode, ...]) -> Blame | None:
    if not nodes:
        return None
    text = "; ".join(f"node {node.name}: {node.message}" for node in nodes)
    return Blame("Node", nodes, text)


def _doubted(found: Blame, gone: Sequence[FailedNode]) -> Blame:
    """Blame nobody by what may have come of a node's leaving; the failure stays."""
    if not gone or found.attribution == "None":
        return found
    text = "; ".join(f"node {node.name} was {node.message}" for node in gone)
    return Blame("None", (), f"{found.message}; {text}: nobody knows what came first")


def _explained(status: JobStatus, found: Blame) -> list[Condition]:
    """Add to the failure's message what the pods tell: it is what people read first."""
    return [
        item.model_copy(update={"message": f"{item.message}; {found.message}"})
        if item.type == FAILED and found.message
        else item
        for item in status.conditions or ()
    ]


def _blamed(request: Request, status: JobStatus, found: Blame) -> list[FailedNode]:
    if found.attribution != "Group":
        return list(found.nodes)
    names = ran_on(request, status)[:MOST_NODES]
    return [FailedNode(name=name, reason=WORKLOAD_FAILED, message=found.message) for name in names]
