"""What holds in every run, whatever happens to it: checked at each change, and once more in the end."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from typing import Any

from cli.simulator.entry import Change, Entry, Object
from cli.simulator.kinds import CORE, CRE, TRAINER
from cli.simulator.store import Store
from sync_hooks.api.conditions import EXCLUSIVE
from sync_hooks.api.job import JobStatus
from sync_hooks.api.model import ApiModel
from sync_hooks.api.names import (
    ANNOTATION_ENDED,
    ANNOTATION_GROUP_NODES,
    LABEL_JOB,
    LABEL_WORKFLOW,
    job_key,
)
from sync_hooks.api.workflow import WorkflowStatus
from sync_hooks.api.workloadrun import WorkloadRunStatus
from sync_hooks.execution.ranges import read_ranges
from sync_hooks.planning.plan import PLAN_KEY, Plan, decode
from sync_hooks.report.nodes import FAILED_KEY, SUCCEEDED_KEY
from tests.properties.plays import NAMESPACE, OURS, RUN, Performance
from webhook.answering import answer

MODELS: dict[str, type[ApiModel]] = {
    "WorkloadRun": WorkloadRunStatus, "Workflow": WorkflowStatus, "Job": JobStatus
}  # fmt: skip
ENDED = ("Succeeded", "Failed")
MEASUREMENTS = ("BandwidthMeasurement", "GoodputMeasurement")
WITHOUT_BOUND = ("WorkloadSuspended", "WorkloadUnschedulable")
"""What a run waits for as long as it takes: a queue's turn, and room for its pods."""
MOST_STATUS_WRITES = 60
MOST_REPLAYED = 20
LONGEST_BACK_OFF_SECONDS = 1000.0  # Metacontroller's, after errors
JUST_PLANNED_SECONDS = 5  # a plan may be made while another is being noted


class Laws:
    """Watches one performance from its first object on."""

    def __init__(self) -> None:
        self.made: Counter[tuple[str, str | None]] = Counter()
        """TrainJobs by name and by the Job that made them."""
        self.jobs: Counter[str] = Counter()
        """Jobs by name: one that was deleted before anybody had noted it is made again, on nodes that may be busy."""
        self.ends: dict[str, tuple[Any, ...]] = {}
        self.writes: Counter[tuple[str, str]] = Counter()
        self.plans: dict[str, Plan] = {}
        """By run."""
        self.planned: dict[str, float] = {}
        """When the Workflow of a run was first seen with a plan, in virtual seconds."""
        self.followed: set[str] = set()
        """Runs of which a Job was made: another plan would run groups twice."""
        self.told: dict[str, list[Any]] = {}
        """By UID of a measurement: the TrainJobs of whose end it was told, by UID."""

    def watch(self, performance: Performance, change: Change) -> None:
        """Check one change of the store."""
        entry = change.entry
        if performance.intruding:
            return
        if entry.uid in performance.foreign:
            whole = change.type != "DELETED" and _own_part(entry) == _own_part(performance.foreign[entry.uid])
            assert whole, f"{entry.kind.kind} {entry.name} of somebody else was touched"
            return
        if change.type == "ADDED":
            self._check_new(performance, entry)
        if entry.kind.api_version == CRE and entry.kind.kind in MODELS and change.type != "DELETED":
            self._check_status(entry)
            if entry.kind.kind == "Workflow" and "plan" in (entry.obj.get("status") or {}):
                self.planned.setdefault(entry.name, performance.clock.time)
        if entry.kind.kind in MEASUREMENTS and change.type == "MODIFIED" and change.old is not None:
            self._check_told(entry, change.old)
        if entry.kind.kind == "Pod" and change.type == "MODIFIED" and change.old is not None:
            _check_alone(performance, entry, change.old)

    def _check_told(self, entry: Entry, old: Entry) -> None:
        """Of a measurement that exists only this changes: of which attempt it is told that it has ended."""
        before, after = ((item.obj.get("spec"), item.labels) for item in (old, entry))
        assert before == after, f"{entry.kind.kind} {entry.name}: {before} became {after}"
        was, told = (item.metadata.get("annotations") or {} for item in (old, entry))
        assert was.keys() - told.keys() <= {ANNOTATION_ENDED}, f"{entry.name}: an annotation of others was lost"
        assert set(entry.owners) <= set(old.owners)  # one that is gone is taken off by the garbage collector
        was, told = was.get(ANNOTATION_ENDED), told.get(ANNOTATION_ENDED)
        known = self.told.setdefault(entry.uid, [])
        if told is None and was in known:  # taken back, as nothing of it was written down
            known.remove(was)
        elif told != was:
            assert told not in known, f"{entry.kind.kind} {entry.name} was told of {told} again"
            known.append(told)

    def _check_new(self, performance: Performance, entry: Entry) -> None:
        kind = entry.kind.kind
        if kind == "Workflow":
            assert "workflowRef" not in performance.status(entry.name), "the Workflow was made again"
        if entry.kind.api_version == TRAINER and kind == "TrainJob":
            self.made[entry.name, entry.controller] += 1
            assert self.made[entry.name, entry.controller] == 1, f"TrainJob {entry.name} was made twice"
        if entry.kind.api_version == CRE and kind == "Job":
            self.followed.add(entry.labels.get(LABEL_WORKFLOW, ""))
            self.jobs[entry.name] += 1
            again = self.jobs[entry.name] > 1 and _is_noted(performance, entry)
            assert not again, f"Job {entry.name} was made again"
        if kind == "ConfigMap" and entry.name.removesuffix("-plan") in performance.names:
            self._check_plan(performance, entry.name.removesuffix("-plan"), entry)
        if entry.kind.api_version == TRAINER and kind == "TrainJob":
            self._check_room(performance, entry)
        if entry.kind.api_version == CRE and kind == "Job":
            self._check_nodes_free(performance, entry)

    def _check_plan(self, performance: Performance, run: str, stored: Entry) -> None:
        """A plan is the only one, and names the nodes that another run, planned a while before, still holds.

        One that was deleted before anything came of it may be made again.
        """
        workflow = performance.find("Workflow", run) or {}
        assert "plan" not in (workflow.get("status") or {}), "planned again"
        assert run not in self.followed, "planned again"
        plan = self.plans[run] = decode(base64.b64decode(stored.obj["binaryData"][PLAN_KEY]))
        for other, since in self.planned.items():
            known = is_under_way(performance, other) and performance.find("ConfigMap", f"{other}-plan") is not None
            held = _targets(self.plans[other]) & _targets(plan) if known and other in self.plans else set()
            if held and performance.clock.time - since > JUST_PLANNED_SECONDS and performance.can_read:
                named = [text for text in plan.warnings if f"/{other}," in text]
                assert named, f"{run} says nothing of the {len(held)} nodes that {other} holds"

    def _check_room(self, performance: Performance, train_job: Entry) -> None:
        """Before a TrainJob is made nothing of its name is left, and no pod of its Job's earlier attempts lives."""
        if self.jobs[train_job.name.rpartition("-w")[0]] > 1:
            return
        for pod in performance.store.select(CORE, "Pod", NAMESPACE, {"cre.nvidia.com/job": train_job.name[:-3]}):
            assert not _is_live(pod), f"{train_job.name} was made while {pod.name} lives"

    def _check_nodes_free(self, performance: Performance, job: Entry) -> None:
        nodes = _nodes(job) if self.jobs[job.name] == 1 else set()
        for other in performance.store.select(CRE, "Job", NAMESPACE):
            status = other.obj.get("status") or {}
            if other.labels.get(LABEL_WORKFLOW) != job.labels.get(LABEL_WORKFLOW):
                continue  # of another run: the scheduler lets its pods wait
            if other.uid != job.uid and nodes & _nodes(other) and not status.get("drained"):
                raise AssertionError(f"{job.name} was made while {other.name} holds nodes of it")
        own = {LABEL_WORKFLOW: job.labels.get(LABEL_WORKFLOW, "")}
        for pod in performance.store.select(CORE, "Pod", NAMESPACE, own):
            if _is_live(pod) and pod.obj["spec"].get("nodeName") in nodes:
                raise AssertionError(f"{job.name} was made while {pod.name} runs on {pod.obj['spec']['nodeName']}")

    def _check_status(self, entry: Entry) -> None:
        status = entry.obj.get("status")
        if not status:
            return
        MODELS[entry.kind.kind].model_validate(status)
        self.writes[entry.kind.kind, entry.uid] += 1
        conditions = {item["type"]: item for item in status.get("conditions") or ()}
        true = [type_ for type_ in EXCLUSIVE if conditions.get(type_, {}).get("status") == "True"]
        assert len(true) == (1 if conditions else 0), f"{entry.name}: {true} at once"
        now = None
        if true and true[0] in ENDED:
            now = (true[0], conditions[true[0]]["reason"], conditions[true[0]]["lastTransitionTime"],
                   status.get("verdict"), json.dumps(status.get("coverage")))  # fmt: skip
        before = self.ends.get(entry.uid)
        assert before is None or before == now, f"{entry.kind.kind} {entry.name}: {before} became {now}"
        if now is not None:
            self.ends[entry.uid] = now


def _is_noted(performance: Performance, job: Entry) -> bool:
    """Tell whether the API knows that a Job was made: one deleted before that was known to nobody."""
    workflow = performance.find("Workflow", job.labels.get(LABEL_WORKFLOW, "")) or {}
    status, key = workflow.get("status") or {}, job_key(job.name)
    if key is None or key.iteration <= len(status.get("iterations") or ()):
        return True
    noted = (status.get("retries") or {}).get(str(key.group), 0)
    return noted >= key.retry and (key.retry > 0 or key.group in read_ranges(status.get("launched")))


def _own_part(entry: Entry) -> Object:
    """What belongs to whoever made an object: all but the status, which the kind's own controller writes."""
    metadata = {
        key: value for key, value in entry.metadata.items() if key in ("labels", "ownerReferences", "finalizers")
    }
    return {**{key: value for key, value in entry.obj.items() if key != "status"}, "metadata": metadata}


def _is_live(pod: Entry) -> bool:
    return (pod.obj.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _nodes(job: Entry) -> set[str]:
    text = (job.metadata.get("annotations") or {}).get(ANNOTATION_GROUP_NODES, "")
    return {name for name in text.split(",") if name}


def _targets(plan: Plan) -> set[str]:
    return {node for group in plan.groups for node in group.nodes}


def _check_alone(performance: Performance, pod: Entry, before: Entry) -> None:
    """A node's GPUs belong to one group at a time, of whatever run."""
    node = pod.obj["spec"].get("nodeName")
    if before.obj["spec"].get("nodeName") or not node or not _asks_for_gpus(pod):
        return
    for other in performance.store.select(CORE, "Pod", NAMESPACE):
        if other.obj["spec"].get("nodeName") == node and _is_live(other) and _asks_for_gpus(other):
            same = other.labels.get(LABEL_JOB) == pod.labels.get(LABEL_JOB)
            assert same, f"{pod.name} was put on {node} beside {other.name}"


def _asks_for_gpus(pod: Entry) -> bool:
    limits = ((item.get("resources") or {}).get("limits") or {} for item in pod.obj["spec"]["containers"])
    return any("nvidia.com/gpu" in limit for limit in limits)


# In the end


def lists(performance: Performance, workflow_uid: str) -> tuple[list[str], list[Object]]:
    """Read the two node lists back."""
    succeeded = performance.find("ConfigMap", f"succeeded-nodes-{workflow_uid[:8]}")
    failed = performance.find("ConfigMap", f"failed-nodes-{workflow_uid[:8]}")
    good = _unpacked(succeeded["binaryData"][SUCCEEDED_KEY]).decode().split(",") if succeeded else []
    bad: list[Object] = json.loads(_unpacked(failed["binaryData"][FAILED_KEY])) if failed else []
    return good, bad


def _unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


def ended(performance: Performance, name: str = RUN) -> bool:
    """Tell whether a run has a final condition."""
    return _is_ended(performance.status(name))


def is_under_way(performance: Performance, name: str) -> bool:
    """Tell whether a run's Workflow is there and has no final condition."""
    workflow = performance.find("Workflow", name)
    return workflow is not None and not _is_ended(workflow.get("status") or {})


def _is_ended(status: Object) -> bool:
    conditions = status.get("conditions") or ()
    return any(item["type"] in ENDED and item["status"] == "True" for item in conditions)


def check_end(performance: Performance, laws: Laws) -> None:
    """Check what is left of runs that were not deleted: they have ended, or say what they wait for without a bound."""
    for name in performance.names:
        _check_end_of(performance, laws, name)


def _check_end_of(performance: Performance, laws: Laws, name: str) -> None:
    run = performance.find("WorkloadRun", name)
    assert run is not None
    status = run.get("status") or {}
    if not ended(performance, name):
        waiting = status.get("waiting") or {}
        assert waiting.get("reason") in WITHOUT_BOUND, f"the run hangs: {status}"
        assert waiting["message"], "it is not said what the run waits for"
        return
    assert status["verdict"] in ("Passed", "Failed", "Incomplete")
    assert status["verdict"] == "Passed" or status["verdictReasons"]
    assert "waiting" not in status
    workflow = performance.find("Workflow", name)
    if workflow is None and "completionTime" in status:
        return  # it was deleted after the end
    if workflow is None or workflow["metadata"]["uid"] in performance.foreign or name not in laws.plans:
        assert status["verdict"] != "Passed"
        return
    _check_coverage(performance, status, workflow, laws.plans[name])


def _check_coverage(performance: Performance, status: Object, workflow: Object, plan: Plan) -> None:
    coverage = status["coverage"]
    counted = coverage["tested"] + coverage["excluded"] + coverage["inconclusive"]
    assert coverage["targeted"] == counted, f"some nodes are nowhere: {coverage}"
    good, bad = lists(performance, workflow["metadata"]["uid"])
    blamed = [item["name"] for item in bad]
    assert good == sorted(set(good))
    assert blamed == sorted(blamed)
    assert not set(good) & set(blamed), f"in both lists: {set(good) & set(blamed)}"
    references = [status[key]["name"] for key in ("succeededNodesRef", "failedNodesRef") if key in status]
    if all(performance.find("ConfigMap", name) for name in references):
        assert coverage["tested"] == len(good) + len(set(blamed)), (coverage, good, blamed)
    known = {node for group in plan.groups for node in group.nodes} | set(plan.candidates)
    assert set(good) | set(blamed) <= known
    if status["verdict"] == "Passed":
        assert sorted(good) == sorted(known) or not good
        assert (coverage["excluded"], coverage["inconclusive"]) == (0, 0)


def check_rest(performance: Performance) -> None:
    """Check that the end is an end: asked again, the hooks change nothing and ask for nothing more.

    Where a run still waits, it first carries out what it was kept from.
    """
    if not all(ended(performance, name) for name in performance.names):
        performance.simulation.run(performance.clock.time + LONGEST_BACK_OFF_SECONDS)
    store, metacontroller = performance.store, performance.simulation.metacontroller
    versions, calls = _versions(store), metacontroller.traffic.total
    for name in metacontroller.controllers:
        metacontroller._running[name].controller.resync()
    performance.simulation.run(performance.clock.time + 100, most_calls=calls + 10_000)
    after = _versions(store)
    changed = sorted(name for name in versions.keys() | after.keys() if versions.get(name) != after.get(name))
    assert not changed, f"the end is no fixed point: {changed}"


def check_replay(performance: Performance) -> None:
    """Check that requests from any moment of the run, asked again after its end, change nothing and make nothing."""
    every = max(1, len(performance.requests) // MOST_REPLAYED)
    for controller, hook, body in performance.requests[::every]:
        answered = answer(controller, hook, body, performance.simulation.reader.read, performance.clock.now())
        if answered.status != 200:
            assert answered.status == 429  # the parent is gone: there is nothing to answer for
            continue
        request, response = json.loads(body), json.loads(answered.body)
        parent = request["parent"]["metadata"]
        live = performance.find(request["parent"]["kind"], parent["name"]) or {}
        assert response["status"] == live["status"], f"{parent['name']}: an old request changes the status"
        known = {child["metadata"]["name"] for kind in request["children"].values() for child in kind.values()}
        wanted = {child["metadata"]["name"] for child in response["children"]}
        assert wanted <= known, f"{parent['name']}: an old request makes {sorted(wanted - known)}"


def _versions(store: Store) -> dict[str, int]:
    return {
        f"{kind} {entry.name}": entry.version
        for api_version, kind in OURS
        for entry in store.select(api_version, kind, NAMESPACE)
    }


def check_traffic(performance: Performance, laws: Laws, *, slack: int = 1) -> None:
    """Check that nothing went round and round: writes of a status and calls of a hook are few for what happened."""
    for (kind, uid), count in laws.writes.items():
        if kind == "Job":
            assert count <= MOST_STATUS_WRITES * slack, f"{count} writes of the status of {kind} {uid}"
    minutes = performance.clock.time / 60
    for (controller, parent), count in performance.simulation.metacontroller.traffic.parents.items():
        limit = (60 + 12 * minutes) * slack + 4 * sum(laws.writes.values())
        assert count <= limit, f"{count} calls of {controller} for {parent} in {minutes:.0f} minutes"


def check_gone(performance: Performance) -> None:
    """Check that nothing is left of a run that was deleted."""
    left = [
        f"{kind} {entry.name}"
        for api_version, kind in OURS
        for entry in performance.store.select(api_version, kind, NAMESPACE)
        if entry.uid not in performance.foreign
    ]
    assert not left, f"left behind: {left}"


def verdict(performance: Performance) -> Object:
    """Return what a run found, without times and random names: equal for equal facts."""
    status = performance.status()
    workflow = performance.find("Workflow", RUN)
    good, bad = lists(performance, workflow["metadata"]["uid"]) if workflow else ([], [])
    kept = ("verdict", "coverage", "excludedNodes", "detectedPlatform", "resolvedGpusPerNode")
    conditions = sorted((item["type"], item["status"], item["reason"]) for item in status.get("conditions") or ())
    found = {name: status.get(name) for name in kept}
    progress = {key: value for key, value in (status.get("progress") or {}).items() if key != "since"}
    return {**found, "conditions": conditions, "progress": progress, "succeeded": good,
            "failed": [(item["name"], item["reason"]) for item in bad]}  # fmt: skip
