"""Three tiers of trivial hooks in the product's shape: a run, a Workflow, a Job a group and iteration, a TrainJob each.

They stand in for the product's hooks where the simulator itself is tested or measured: typed decoding, stubs for what
exists, at most 100 new Jobs an answer, an iteration's Jobs deleted before the next one's come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from cli.simulator.kinds import CRE
from cli.simulator.protocol import HookResponse
from cli.simulator.simulation import HookContext
from sync_hooks.api.sync import ListPods, ReadLog, Unreadable
from tests.cli.simulator.cluster import config_map, stub, train_job, training_runtime

MOST_NEW_JOBS = 100
JOB = "Job.cre.nvidia.com/v1alpha1"
RUNTIME = "TrainingRuntime.trainer.kubeflow.org/v1alpha1"


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class Thing(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Meta = Meta()
    api_version: str = ""
    kind: str = ""
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    def is_true(self, type_: str) -> bool:
        return any(item["type"] == type_ and item["status"] == "True" for item in self.status.get("conditions", ()))


class JobStatus(msgspec.Struct, frozen=True):
    done: bool = False


class JobChild(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Meta = Meta()
    status: JobStatus = JobStatus()


class Request(msgspec.Struct, frozen=True):
    parent: Thing
    children: dict[str, dict[str, Thing]] = {}


class WorkflowChildren(msgspec.Struct, frozen=True):
    jobs: dict[str, JobChild] = msgspec.field(default_factory=dict, name=JOB)
    runtimes: dict[str, Thing] = msgspec.field(default_factory=dict, name=RUNTIME)
    config_maps: dict[str, Thing] = msgspec.field(default_factory=dict, name="ConfigMap.v1")


class WorkflowRequest(msgspec.Struct, frozen=True):
    parent: Thing
    children: WorkflowChildren


class Tiers:
    """The hooks of a run of ``groups`` groups of ``size`` nodes, ``iterations`` times over; measures when asked."""

    def __init__(self, groups: int, iterations: int, *, size: int = 2, measure: bool = False) -> None:
        self.groups = groups
        self.iterations = iterations
        self.size = size
        self.measure = measure
        self._context: HookContext | None = None
        self._by_name: dict[str, Callable[[bytes], dict[str, Any]]] = {
            "cre-workloadruns": self._run,
            "cre-workflows": self._workflow,
            "cre-jobs": self._job,
            "cre-bandwidthmeasurements": self._measurement,
        }

    def factory(self, context: HookContext) -> Callable[[str, str, bytes], HookResponse]:
        self._context = context
        return lambda name, _, body: HookResponse(200, msgspec.json.encode(self._by_name[name](body)))

    def _run(self, body: bytes) -> dict[str, Any]:
        request = msgspec.json.decode(body, type=Request)
        name = request.parent.metadata.name
        children = [child for group in request.children.values() for child in group.values()]
        workflow = {"apiVersion": CRE, "kind": "Workflow", "metadata": {"name": name}, "spec": request.parent.spec}
        phase = children[0].status.get("phase", "") if children else ""
        return {"status": {"phase": phase}, "children": [stub(workflow) if children else workflow]}

    def _workflow(self, body: bytes) -> dict[str, Any]:
        """Follow observed objects only: the own status comes back late, the ConfigMap of an iteration stays."""
        request = msgspec.json.decode(body, type=WorkflowRequest)
        parent, children = request.parent, request.children
        name, iteration = parent.metadata.name, len(children.config_maps) + 1
        runtime = training_runtime(f"{name}-runtime")
        if not children.runtimes:
            return {"status": {}, "children": [runtime], "resyncAfterSeconds": 1}
        kept = [stub(runtime), *(stub(config_map(f"{name}-{number}")) for number in range(1, iteration))]
        if iteration > self.iterations:
            return {"status": {"phase": "Done"}, "children": kept}
        prefix = f"{parent.metadata.namespace}/"
        names = [self._name(parent, group, iteration) for group in range(self.groups)]
        known = [job for name in names if (job := children.jobs.get(prefix + name)) is not None]
        done = sum(1 for job in known if job.status.done)
        if done == self.groups:
            kept.append(config_map(f"{name}-{iteration}"))
        wanted = min(self.groups, len(known) + MOST_NEW_JOBS)
        jobs = [
            self._stub(name) if prefix + name in children.jobs else self._new_job(parent, group, iteration)
            for group, name in enumerate(names[:wanted])
        ]
        again = {"resyncAfterSeconds": 1} if len(known) < self.groups else {}
        return {"status": {"phase": "Running", "done": done}, "children": [*kept, *jobs], **again}

    def _name(self, parent: Thing, group: int, iteration: int) -> str:
        return f"{parent.metadata.name}-g{group}-i{iteration}"

    def _stub(self, name: str) -> dict[str, Any]:
        return {"apiVersion": CRE, "kind": "Job", "metadata": {"name": name}}

    def _new_job(self, parent: Thing, group: int, iteration: int) -> dict[str, Any]:
        nodes = [f"gpu-{group * self.size + offset:04d}" for offset in range(self.size)]
        labels = {"cre.nvidia.com/group": str(group), "cre.nvidia.com/iteration": str(iteration)}
        spec: dict[str, Any] = {"nodes": nodes, "runtime": f"{parent.metadata.name}-runtime"}
        if self.measure:
            spec["bandwidthMeasurement"] = {"testType": "all_reduce"}
        metadata = {"name": self._name(parent, group, iteration), "labels": labels}
        return {"apiVersion": CRE, "kind": "Job", "metadata": metadata, "spec": spec}

    def _job(self, body: bytes) -> dict[str, Any]:
        request = msgspec.json.decode(body, type=Request)
        parent = request.parent
        found = {child.kind: child for group in request.children.values() for child in group.values()}
        name = f"{parent.metadata.name}-w0"
        wanted = [train_job(name, tuple(parent.spec["nodes"]), runtime=parent.spec["runtime"])]
        if self.measure:
            metadata = {"name": f"{parent.metadata.name}-bandwidth"}
            wanted.append(
                {"apiVersion": CRE, "kind": "BandwidthMeasurement", "metadata": metadata, "spec": {"job": name}}
            )
        job, measurement = found.get("TrainJob"), found.get("BandwidthMeasurement")
        measured = not self.measure or (measurement is not None and "bytes" in measurement.status)
        complete, failed = (job is not None and job.is_true(type_) for type_ in ("Complete", "Failed"))
        status = {"done": complete and measured, "failed": failed}
        kept = [stub(child) if child["kind"] == "TrainJob" and child["kind"] in found else child for child in wanted]
        return {"status": status, "children": kept}

    def _measurement(self, body: bytes) -> dict[str, Any]:
        assert self._context is not None
        parent = msgspec.json.decode(body, type=Request).parent
        if parent.status.get("bytes"):
            return {"status": parent.status}
        pods = self._context.read(ListPods(parent.metadata.namespace, parent.spec["job"]))
        if not pods or pods[0].status.phase != "Succeeded":
            return {"status": {}, "resyncAfterSeconds": 15}
        log = self._context.read(ReadLog(parent.metadata.namespace, pods[0].name, "node"))
        if isinstance(log, Unreadable):  # the pod went with its Job
            return {"status": {}, "resyncAfterSeconds": 15}
        return {"status": {"bytes": len(log.content)}}
