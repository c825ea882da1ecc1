"""What the driver sends is what a real Metacontroller 4.17.2 sent in the same situation, with real Trainer and JobSet.

``recordings`` holds the bodies of those requests. Left out of the comparison: managedFields, which the store does not
keep, and what the customize hook of that recording brought, which the driver does not have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.simulator.entry import Object
from cli.simulator.kinds import CRE, KINDS, TRAINER, Discovery, Kind
from cli.simulator.simulation import Simulation
from tests.cli.simulator.cluster import Hooks, controller, parent, simulation, stub, training_runtime

FOLDER = Path(__file__).parent / "recordings"
KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
MEASURE = Kind(CRE, "Measure", "measures", custom=True)
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

TRAIN_JOB: Object = {
    "apiVersion": TRAINER,
    "kind": "TrainJob",
    "metadata": {"name": "wr2-0"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"image": "busybox", "numNodes": 2, "command": ["sleep", "1"]},
    },
}


def recorded(name: str) -> Object:
    body: Object = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return body


def comparable(body: Object) -> Any:
    """Rename UIDs by order of appearance, level times and versions, drop what the comparison leaves out."""
    text = json.dumps(_without(body, "managedFields"), sort_keys=True)
    seen: dict[str, str] = {}
    text = UID.sub(lambda match: seen.setdefault(match.group(), f"uid-{len(seen)}"), text)
    text = re.sub(r'"resourceVersion": "\d+"', '"resourceVersion": "n"', TIME.sub("time", text))
    level = json.loads(text)
    level["controller"]["metadata"].pop("annotations", None)
    level["controller"]["spec"]["hooks"].pop("customize", None)
    level["related"] = {}
    return level


def _without(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(member, name) for key, member in value.items() if key != name}
    return [_without(member, name) for member in value] if isinstance(value, list) else value


def hook(request: Object) -> Object:
    children = request["children"]["TrainJob.trainer.kubeflow.org/v1alpha1"]
    if request["finalizing"]:
        return {"status": {"seen": 1}, "children": [], "finalized": not children}
    return {"status": {"seen": len(children)}, "children": [stub(TRAIN_JOB) if children else TRAIN_JOB]}


def applied(name: str, kind: str) -> Object:
    annotation = {
        "apiVersion": CRE,
        "kind": kind,
        "metadata": {"annotations": {}, "name": name, "namespace": "default"},
    }
    text = json.dumps({**annotation, "spec": {"image": "busybox"}}, separators=(",", ":")) + "\n"
    return parent(name, kind, {"image": "busybox"}, annotations={KUBECTL: text})


@pytest.fixture(scope="module")
def requests() -> list[Object]:
    """Play the recorded story: a run is created, its TrainJob completes, the run is deleted."""
    hooks = Hooks({"workloadrun": hook})
    cluster = simulation(hooks, [workloadrun()])
    runtime = training_runtime("torch-distributed")
    del runtime["metadata"]["namespace"]
    cluster.store.create({**runtime, "kind": "ClusterTrainingRuntime"})
    cluster.store.create(applied("wr2", "WorkloadRun"))
    cluster.run(3600)
    delete(cluster, "WorkloadRun", "wr2")
    cluster.run(3600)
    return [request for _, _, request in hooks.requests]


def workloadrun() -> Object:
    made = controller("workloadrun", (CRE, "workloadruns"), ((TRAINER, "trainjobs"),), finalize=True)
    url = made["spec"]["hooks"]["sync"]["webhook"]["url"]
    finalize = {"version": "v2", "webhook": {"url": url.replace("/sync", "/finalize"), "timeout": "60s"}}
    made["spec"]["hooks"]["finalize"] = finalize
    return made


def delete(cluster: Simulation, kind: str, name: str) -> None:
    cluster.store.delete(cluster.store.get(CRE, kind, "default", name))


@pytest.mark.parametrize(
    "name",
    ["sync-no-children", "sync-child-created", "sync-child-complete", "finalize-child-present", "finalize-child-gone"],
)
def test_a_request_equals_what_metacontroller_sent(requests: list[Object], name: str) -> None:
    assert comparable(recorded(name)) in [comparable(request) for request in requests]


def test_finalize_is_called_with_the_child_first_and_without_it_last(requests: list[Object]) -> None:
    key = "TrainJob.trainer.kubeflow.org/v1alpha1"
    counts = [len(request["children"][key]) for request in requests if request["finalizing"]]
    assert counts[0] == 1
    assert counts[-1] == 0


def test_a_controller_without_children_gets_an_empty_map() -> None:
    hooks = Hooks({"measure": lambda request: {"status": {}}})
    served = Discovery((*KINDS, MEASURE))
    cluster = simulation(hooks, [controller("measure", (CRE, "measures"))], discovery=served)
    cluster.store.create(applied("m1", "Measure"))
    cluster.run(60)
    assert comparable(hooks.sent("measure")[0]) == comparable(recorded("sync-controller-without-children"))


def test_members_stand_in_the_order_in_which_metacontroller_writes_them(requests: list[Object]) -> None:
    assert list(requests[0]) == ["controller", "parent", "children", "related", "finalizing"]
