"""Overrides that leave something that cannot be planned with: a message of their own, never a crash."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import nodes
from tests.support.planned import DEMO
from tests.support.runs import run_spec

TRAINER = "/spec/workload/trainJob/trainer"


def refusal(*overrides: dict[str, Any], framework: str = "torch") -> str:
    result = build(DEMO, run_spec(framework, overrides=list(overrides)), nodes(4))
    assert isinstance(result, Unplannable), "the run is planned"
    assert (result.reason, result.wait) == ("OverrideError", False)
    return result.message


def patch(path: str, value: Any) -> dict[str, Any]:
    return {"jobTemplatePatch": [{"op": "add", "path": path, "value": value}]}


def object_of(kind: str, **fields: Any) -> dict[str, Any]:
    version = {"ComputeDomain": "resource.nvidia.com/v1beta1", "ResourceClaimTemplate": "resource.k8s.io/v1"}
    return {"dependencies": [{"apiVersion": version[kind], "kind": kind, "metadata": {"name": "x"}, **fields}]}


def runtime(*jobs: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {"replicatedJobs": list(jobs)}}}
    whole = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "spec": spec}
    return {"dependencies": [{**whole, "metadata": {"name": "demo-runtime", **metadata}}]}


def replicated(pod: dict[str, Any], name: str = "node") -> dict[str, Any]:
    return {"name": name, "template": {"spec": {"template": {"spec": pod}}}}


def container(**fields: Any) -> dict[str, Any]:
    return replicated({"containers": [{"name": "node", **fields}]})


@pytest.mark.parametrize(
    ("override", "said"),
    [
        pytest.param(patch(f"{TRAINER}/resourcesPerNode", 5), "trainer.resourcesPerNode", id="resources"),
        pytest.param(patch(f"{TRAINER}/resourcesPerNode", {"limits": [1]}), "resourcesPerNode.limits", id="limits"),
        pytest.param(patch(f"{TRAINER}/env", [{"value": "1"}]), "name", id="variable without name"),
        pytest.param(object_of("ComputeDomain", spec={"channel": "imex"}), "spec.channel", id="channel"),
        pytest.param(object_of("ComputeDomain", spec=[]), "spec", id="domain"),
        pytest.param(object_of("ResourceClaimTemplate", spec={"spec": {"devices": 1}}), "devices", id="devices"),
        pytest.param(
            {"dependencies": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": 5}}]},
            "metadata.labels",
            id="labels of an object",
        ),
        pytest.param(runtime(labels=5), "metadata.labels", id="labels of the runtime"),
        pytest.param(runtime(container(resources={"limits": 8})), "resources.limits", id="limits of a container"),
        pytest.param(
            runtime(replicated({"volumes": [{"name": "v", "persistentVolumeClaim": "data"}]})),
            "persistentVolumeClaim",
            id="claim of a volume",
        ),
    ],
)
def test_what_planning_would_stumble_over_is_refused_with_its_place(override, said):
    assert said in refusal(override, object_of("ResourceClaimTemplate", spec={}))


@pytest.mark.parametrize(
    ("framework", "names"), [("torch", "this framework's are node"), ("mpi", "this framework's are node and launcher")]
)
def test_a_misspelt_replicated_job_is_told_with_the_names_that_there_are(framework, names):
    said = refusal(runtime(replicated({"nodeSelector": {"a": "b"}}, name="worker")), framework=framework)
    assert f"replicatedJob worker has no containers; {names}" in said


def test_a_job_that_the_webhook_would_refuse_ends_planning_with_its_sentences():
    monitor = {"cel": {"expression": "node.foo ("}}
    said = refusal({"jobTemplate": {"spec": {"timeout": "abc", "nodeHealthMonitor": monitor}}})
    assert said.startswith("admission would refuse the Jobs: ")
    assert "spec.timeout: " in said
    assert "spec.nodeHealthMonitor.cel.expression: " in said
