"""TrainJobs and runtimes after overrides are asked what Kubeflow Trainer's own webhooks ask."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import nodes
from tests.support.planned import DEMO, planned
from tests.support.runs import FRAMEWORKS, run_spec

POD = "replicatedJobs[0].template.spec.template.spec"
PATCH = "spec.workload.trainJob.runtimePatches[0].trainingRuntimeSpec.template.spec"


def job(name: str, pod: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": name, "template": {"spec": {"template": {"spec": pod}}}, **fields}


def train_job(**fields: Any) -> dict[str, Any]:
    return {"jobTemplate": {"spec": {"workload": {"trainJob": fields}}}}


def patch(*jobs: dict[str, Any]) -> dict[str, Any]:
    spec = {"template": {"spec": {"replicatedJobs": list(jobs)}}}
    return train_job(runtimePatches=[{"manager": "example.com/tool", "trainingRuntimeSpec": spec}])


def runtime(*jobs: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime"}
    spec = {"template": {"spec": {"replicatedJobs": list(jobs)}}}
    return {"dependencies": [{**whole, "metadata": {"name": "demo-runtime"}, "spec": spec}]}


def injecting(target: dict[str, Any]) -> dict[str, Any]:
    changed = runtime()
    changed["dependencies"][0]["spec"] = {"mlPolicy": {"torch": {"envInjection": {"targets": [target]}}}}
    return changed


def refusal(framework: str, *overrides: dict[str, Any]) -> str:
    result = build(DEMO, run_spec(framework, overrides=list(overrides)), nodes(4))
    assert isinstance(result, Unplannable), "the run is planned"
    assert (result.reason, result.wait) == ("OverrideError", False)
    return result.message


@pytest.mark.parametrize(
    ("override", "place"),
    [
        pytest.param(patch(job("other", {})), f"{PATCH}.replicatedJobs[0].name", id="an unknown replicatedJob"),
        pytest.param(
            patch(job("node", {"containers": [{"name": "other"}]})),
            f"{PATCH}.{POD}.containers[0].name",
            id="an unknown container",
        ),
        pytest.param(
            patch(job("node", {"containers": [{"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]})),
            f"{PATCH}.{POD}.containers[0].volumeMounts[0].name",
            id="a mount of no volume",
        ),
        pytest.param(
            train_job(initializer={"dataset": {"storageUri": "hf://a/b"}}),
            "spec.workload.trainJob.initializer.dataset",
            id="an initializer that nobody runs",
        ),
        pytest.param(
            injecting({"jobName": "other", "containerNames": ["a"]}),
            "runtime.spec.mlPolicy.torch.envInjection.targets[0].jobName",
            id="variables for an unknown replicatedJob",
        ),
        pytest.param(
            injecting({"jobName": "node", "containerNames": ["a"]}),
            "runtime.spec.mlPolicy.torch.envInjection.targets[0].containerNames[0]",
            id="variables for an unknown container",
        ),
        pytest.param(
            runtime({"name": "node", "replicas": 2}),
            "runtime.spec.template.spec.replicatedJobs[0].replicas",
            id="two Jobs of workers",
        ),
        pytest.param(
            {
                "jobTemplatePatch": [
                    {
                        "op": "add",
                        "path": "/spec/workload/trainJob/trainer/env",
                        "value": [{"name": "PET_NNODES", "value": "9"}],
                    }
                ]
            },
            "spec.workload.trainJob.trainer.env[0].name",
            id="a variable of torchrun",
        ),
    ],
)
def test_what_trainers_webhook_would_refuse_ends_planning_at_its_field(override: dict[str, Any], place: str) -> None:
    assert f"Kubeflow Trainer would refuse {place}: " in refusal("torch", override)


def test_a_runtime_of_another_group_is_none_of_trainers() -> None:
    said = refusal("torch", train_job(runtimeRef={"apiGroup": "example.com"}))
    assert said == "runtimeRef.apiGroup must stay trainer.kubeflow.org, an override makes it example.com"


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
def test_patches_of_containers_that_are_there_are_planned(framework: str) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    pod = {"volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "node", "volumeMounts": mounts}]}
    assert planned(run_spec(framework, overrides=[patch(job("node", pod))]))


def test_an_initializer_that_an_override_brings_is_taken() -> None:
    name = "dataset-initializer"
    container = {"name": name, "image": "i", "volumeMounts": [{"name": "initializer", "mountPath": "/workspace"}]}
    pod = {"containers": [container], "volumes": [{"name": "initializer", "emptyDir": {}}]}
    overrides = [runtime(job(name, pod)), train_job(initializer={"dataset": {"storageUri": "hf://a/b"}})]
    assert planned(run_spec("torch", overrides=overrides))
