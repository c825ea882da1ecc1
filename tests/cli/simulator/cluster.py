"""A small simulated cluster for tests: objects that are valid by default, hooks of a few lines, a log of requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cli.simulator.entry import Entry, Object
from cli.simulator.faults import Faults
from cli.simulator.inventory import make
from cli.simulator.kinds import CORE, CRE, TRAINER, Discovery
from cli.simulator.pace import Pace
from cli.simulator.protocol import HookResponse
from cli.simulator.scenario import Rule, Scenario
from cli.simulator.simulation import HookContext, Simulation

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "default"
Hook = Callable[[Object], Object | HookResponse]
"""A hook in a test: the request decoded, to the answer or to a whole response."""


@dataclass
class Hooks:
    """Hooks by controller name; keeps every request it was sent."""

    by_name: dict[str, Hook]
    requests: list[tuple[str, str, Object]] = field(default_factory=list)
    context: HookContext | None = None

    def factory(self, context: HookContext) -> Callable[[str, str, bytes], HookResponse]:
        self.context = context
        return self.call

    def call(self, controller: str, hook: str, body: bytes) -> HookResponse:
        request = json.loads(body)
        self.requests.append((controller, hook, request))
        answer = self.by_name[controller](request)
        return answer if isinstance(answer, HookResponse) else HookResponse(200, json.dumps(answer).encode())

    def sent(self, controller: str, hook: str = "sync") -> list[Object]:
        return [request for name, kind, request in self.requests if (name, kind) == (controller, hook)]


def controller(
    name: str,
    parent: tuple[str, str],
    children: tuple[tuple[str, str], ...] = (),
    *,
    finalize: bool = False,
    parent_fields: Object | None = None,
    method: str = "OnDelete",
    **spec: Any,
) -> Object:
    webhook = {"version": "v2", "webhook": {"url": f"http://127.0.0.1:18000/{name}/sync", "timeout": "60s"}}
    hooks = {"sync": webhook, **({"finalize": webhook} if finalize else {})}
    rules = [
        {"apiVersion": version, "resource": resource, "updateStrategy": {"method": method}}
        for version, resource in children
    ]
    return {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": "CompositeController",
        "metadata": {"name": name},
        "spec": {
            "generateSelector": True,
            "parentResource": {"apiVersion": parent[0], "resource": parent[1], **(parent_fields or {})},
            **({"childResources": rules} if rules else {}),
            "hooks": hooks,
            **spec,
        },
    }


def simulation(
    hooks: Hooks,
    controllers: list[Object],
    *,
    nodes: str = "aws/h100x4",
    rules: tuple[Rule, ...] = (),
    discovery: Discovery | None = None,
    pace: Pace | None = None,
    faults: Faults | None = None,
    **more: Any,
) -> Simulation:
    return Simulation(
        make(nodes),
        Scenario(rules),
        hooks.factory,
        START,
        controllers=controllers,
        discovery=discovery,
        pace=pace,
        faults=faults,
        **more,
    )


def parent(name: str = "run", kind: str = "WorkloadRun", spec: Object | None = None, **metadata: Any) -> Object:
    return {
        "apiVersion": CRE,
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "spec": spec or {},
    }


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    return {"apiVersion": CORE, "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}


def stub(obj: Object) -> Object:
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {"name": obj["metadata"]["name"]}}


def training_runtime(name: str = "runtime", *, gpus: int = 8, mpi: bool = False) -> Object:
    ancestor = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    worker = {"name": "node", "image": "i", "resources": resources}
    node: Object = {
        "name": "node",
        "template": {
            **({} if mpi else {"metadata": ancestor}),
            "spec": {
                "backoffLimit": 0,
                "parallelism": 1,
                "completions": 1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [worker]}},
            },
        },
    }
    jobs, template = [node], {}
    if mpi:
        launcher = {"name": "node", "image": "i", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
        jobs.append(
            {
                "name": "launcher",
                "dependsOn": [{"name": "node", "status": "Ready"}],
                "template": {
                    "metadata": ancestor,
                    "spec": {
                        "backoffLimit": 0,
                        "parallelism": 1,
                        "completions": 1,
                        "template": {"spec": {"restartPolicy": "Never", "containers": [launcher]}},
                    },
                },
            }
        )
        template = {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]}}
    policy = {"numNodes": 1, **({"mpi": {"mpiImplementation": "OpenMPI"}} if mpi else {})}
    return {
        "apiVersion": TRAINER,
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"mlPolicy": policy, "template": {"spec": {**template, "replicatedJobs": jobs}}},
    }


def train_job(
    name: str, nodes: tuple[str, ...], *, runtime: str = "runtime", mpi: bool = False, labels: Object | None = None
) -> Object:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}
                ]
            }
        }
    }
    pod = {"metadata": {"labels": {"cre.nvidia.com/job": "job"}}, "spec": {"affinity": affinity}}
    names = ("node", "launcher") if mpi else ("node",)
    jobs = [{"name": job, "template": {"spec": {"template": pod}}} for job in names]
    return {
        "apiVersion": TRAINER,
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": NAMESPACE, **({"labels": labels} if labels else {})},
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": runtime},
            "trainer": {"image": "busybox", "numNodes": len(nodes)},
            "runtimePatches": [
                {
                    "manager": "cre.nvidia.com/controller",
                    "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
                }
            ],
        },
    }


def live(simulation: Simulation, kind: str, name: str, api_version: str = CRE) -> Entry | None:
    return simulation.store.find(api_version, kind, NAMESPACE, name)


def condition(obj: Object, type_: str) -> Object | None:
    found = (item for item in obj.get("status", {}).get("conditions", ()) if item["type"] == type_)
    return next(found, None)
