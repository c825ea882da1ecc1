"""Made-up runs of any size, as the API holds them: for reports, which must not care where a run came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cli.simulator.inventory import make
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.names import bandwidth_name, goodput_name, job_name
from sync_hooks.api.observed import LiveObject, Metadata, Node
from sync_hooks.api.request import FailedNodeFacts
from sync_hooks.execution.children import node_config_maps, plan_config_map, result_config_map
from sync_hooks.planning.plan import Plan, RunIdentity, encode
from sync_hooks.report.iteration import GroupResult, IterationResult
from sync_hooks.report.nodes import node_verdicts
from tests.support.planned import planned
from tests.support.runs import run_spec

RUN_UID, WORKFLOW_UID = "uid-of-run", "uid-of-workflow"
STARTED, ENDED = "2026-01-01T00:00:10Z", "2026-01-01T00:05:10Z"
SIZES = [8 << step for step in range(32)]
PEAK = 370.0
BANDWIDTH = {"logProfileRef": "nccl-bandwidth", "testType": "all_reduce"}

Object = dict[str, Any]
Edit = Callable[[int, Object], None]
"""Changes the Job of a group, given its number, before it is put among the objects."""


def made(
    nodes: str = "aws/gb200x36",
    *,
    size: int = 2,
    name: str = "big",
    verdict: str = "Failed",
    bad: int = 17,
    edit: Edit | None = None,
    tail: str = "NCCL WARN something failed",
    **spec: Any,
) -> tuple[Object, list[Object], list[Object]]:
    """Make a run, its objects and its nodes; of every ``bad`` groups the fourth failed and the sixth was too slow."""
    inventory = list(make(nodes))
    given = {"bandwidthMeasurement": BANDWIDTH, "thresholds": {"busBandwidthGBps": "value >= 300"}, **spec}
    specification = run_spec("mpi", numNodes=size, **given)
    plan = planned(specification, [msgspec.convert(node, Node) for node in inventory], RunIdentity(name, "default"))
    jobs = [_job(plan, name, group, bad, tail) for group in range(len(plan.groups))]
    for group, job in enumerate(jobs):
        if edit is not None:
            edit(group, job)
    objects = [*jobs, *(one for job in jobs for one in _measurements(job, specification.to_dict()))]
    run = _run(plan, name, specification.to_dict(), verdict, jobs)
    return run, [*objects, *_workflow(plan, name, jobs, run)], inventory


def _run(plan: Plan, name: str, spec: Object, verdict: str, jobs: list[Object]) -> Object:
    failed = sum(bool(job["status"].get("failedNodes")) for job in jobs)
    status = {
        "conditions": [
            {"type": "Failed", "status": "True", "reason": "WorkflowFailed", "message": f"{failed} groups failed"}
        ],
        "verdict": verdict,
        "verdictReasons": [f"IterationsFailed: {failed} groups failed"],
        "detectedPlatform": plan.platform,
        "detectedGPUArchitecture": plan.architecture,
        "resolvedGpusPerNode": plan.gpus_per_node,
        "coverage": {
            "targeted": plan.targeted,
            "tested": plan.targeted - failed,
            "excluded": 0,
            "inconclusive": failed,
        },
        "progress": {
            "iteration": 1,
            "iterations": 1,
            "groups": len(jobs),
            "pending": 0,
            "running": 0,
            "succeeded": len(jobs) - failed,
            "failed": failed,
        },
        "appliedOverrides": list(plan.applied_overrides),
    }
    metadata = {"name": name, "namespace": "default", "uid": RUN_UID, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": API_VERSION,
        "kind": "WorkloadRun",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _metadata(name: str, run: str, owner: str, uid: str) -> Object:
    return {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "labels": {"cre.nvidia.com/workload-run": run},
        "ownerReferences": [{"apiVersion": "v1", "kind": owner, "name": run, "uid": uid, "controller": owner != "Job"}],
    }


def _job(plan: Plan, run: str, group: int, bad: int, tail: str) -> Object:
    name, nodes = job_name(plan.prefix, group, 1), plan.groups[group].nodes
    broken, slow = group % bad == 3, group % bad == 5
    status: Object = {
        "conditions": [{"type": "Succeeded", "status": "True", "reason": "WorkloadCompleted", "message": "done"}],
        "workloadRef": {"name": f"{name}-w0"},
        "workloadPhase": "Succeeded",
        "workloadStartTime": STARTED,
        "workloadEndTime": ENDED,
        "figures": {"busBandwidthGBps": _peak(group, slow=slow), "algBandwidthGBps": _peak(group, slow=slow) / 2},
        "settled": True,
        "drained": True,
    }
    if slow:
        message = "threshold busBandwidthGBps: measured 250.0000 does not satisfy 'value >= 300'"
        status["conditions"].append(
            {"type": "ValidationFailed", "status": "True", "reason": "ThresholdViolated", "message": message}
        )
        blamed = [{"name": node, "reason": "ThresholdViolation", "message": message} for node in nodes]
        status |= {"failedNodes": blamed, "attribution": "Group"}
    elif broken:
        message = f"pod {name}-w0-node-0-0 on node {nodes[0]}: container node exited with 3 (Error)"
        status["conditions"] = [{"type": "Failed", "status": "True", "reason": "WorkloadFailed", "message": message}]
        status |= {
            "failedNodes": [{"name": nodes[0], "reason": "WorkloadFailed", "message": message}],
            "attribution": "Node",
            "failureLog": {
                "podName": f"{name}-w0-node-0-0",
                "nodeName": nodes[0],
                "container": "node",
                "exitCode": 3,
                "reason": "Error",
                "tail": tail,
            },
        }
    metadata = _metadata(name, run, "Workflow", WORKFLOW_UID)
    return {"apiVersion": API_VERSION, "kind": "Job", "metadata": metadata, "spec": {}, "status": status}


def _peak(group: int, *, slow: bool) -> float:
    return round((250.0 if slow else PEAK) - (group * 37 % 100) / 10, 2)


def _measurements(job: Object, spec: Object) -> Iterator[Object]:
    name, run = job["metadata"]["name"], job["metadata"]["labels"]["cre.nvidia.com/workload-run"]
    peak = job["status"]["figures"]["busBandwidthGBps"]
    owners = [{"apiVersion": "v1", "kind": "Workflow", "name": run, "uid": WORKFLOW_UID}]
    if "bandwidthMeasurement" in spec:
        results = [
            {
                "sizeBytes": one,
                "algBandwidthGBps": round(peak / 2 / (1 + 3e7 / one), 2),
                "busBandwidthGBps": round(peak / (1 + 3e7 / one), 2) if one < SIZES[-1] else peak,
                "samples": 1,
                "wrong": 0,
            }
            for one in SIZES
        ]
        yield _measurement("BandwidthMeasurement", bandwidth_name(name), run, owners, {"results": results})
    if "goodputMeasurement" in spec:
        terms = {
            "result": 0.9,
            "trainingTimeSec": 300,
            "lostWorkTimeSec": 10,
            "rescheduleTimeSec": 20,
            "resumeTimeSec": 12,
            "checkpointSaveTimeSec": 6,
            "interruptionCount": 1,
            "highestStep": 480,
        }
        yield _measurement("GoodputMeasurement", goodput_name(name), run, owners, terms)


def _measurement(kind: str, name: str, run: str, owners: list[Object], status: Object) -> Object:
    metadata = {**_metadata(name, run, "Job", "uid-job"), "ownerReferences": owners}
    conditions = [{"type": "Complete", "status": "True", "reason": "JobSucceeded", "message": "read"}]
    whole = {**status, "conditions": conditions}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": {}, "status": whole}


def _workflow(plan: Plan, name: str, jobs: list[Object], run: Object) -> Iterator[Object]:
    """Make the Workflow and its ConfigMaps, and refer to the lists of nodes from the run."""
    yield {
        "apiVersion": API_VERSION,
        "kind": "Workflow",
        "metadata": {**_metadata(name, name, "WorkloadRun", RUN_UID), "uid": WORKFLOW_UID},
        "spec": {},
        "status": {},
    }
    workflow = LiveObject(metadata=Metadata(name=name, namespace="default", uid=WORKFLOW_UID))
    result = IterationResult(1, tuple(_result(group, job["status"]) for group, job in enumerate(jobs)))
    verdicts = node_verdicts(plan, [result])
    lists = node_config_maps(workflow, verdicts)
    for key, config_map in zip(("succeededNodesRef", "failedNodesRef"), lists, strict=False):
        run["status"][key] = {"kind": "ConfigMap", "name": config_map["metadata"]["name"]}
    yield plan_config_map(workflow, encode(plan))
    yield result_config_map(plan, workflow, result)
    yield from lists


def _result(group: int, status: Object) -> GroupResult:
    true = {one["type"]: one for one in status["conditions"] if one["status"] == "True"}
    failure, validation = true.get("Failed", {}), true.get("ValidationFailed", {})
    return GroupResult(
        group=group,
        failure=failure.get("message", ""),
        failure_reason=failure.get("reason", ""),
        validation=validation.get("message", ""),
        validation_reason=validation.get("reason", ""),
        attribution=status.get("attribution", ""),
        failed_nodes=tuple(FailedNodeFacts(**node) for node in status.get("failedNodes", ())),
        figures=status["figures"],
    )
