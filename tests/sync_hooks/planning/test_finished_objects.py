"""Objects that overrides have changed are judged as a whole: what the cluster would refuse ends planning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sync_hooks.admission.admit import admit
from sync_hooks.planning.build import build
from sync_hooks.planning.plan import Unplannable
from tests.support.nodes import nodes
from tests.support.planned import DEMO, planned
from tests.support.runs import FRAMEWORKS, run_spec

ROWS = yaml.safe_load(Path(__file__).with_name("finished.yaml").read_text("utf-8"))
JOB_SET = "TrainingRuntime demo-runtime: spec.template.spec."
PLACES = {
    "pod": f"{JOB_SET}replicatedJobs[0].template.spec.template.spec.",
    "job": f"{JOB_SET}replicatedJobs[0].",
    "jobSet": JOB_SET,
}


def runtime(job_set: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "demo-runtime"}
    version = "trainer.kubeflow.org/v1alpha1"
    return {
        "apiVersion": version,
        "kind": "TrainingRuntime",
        "metadata": metadata,
        "spec": {"template": {"spec": job_set}},
    }


def of_pod(pod: dict[str, Any]) -> dict[str, Any]:
    return runtime({"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]})


def dependency(row: dict[str, Any]) -> dict[str, Any]:
    if "pod" in row:
        return of_pod(row["pod"])
    if "job" in row:
        return runtime({"replicatedJobs": [{"name": "node", "template": {"spec": row["job"]}}]})
    return runtime(row["jobSet"]) if "jobSet" in row else dict(row["object"])


def place(row: dict[str, Any]) -> str:
    start = next((PLACES[kind] for kind in PLACES if kind in row), "")
    return start or f"{row['object']['kind']} x: "


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["at"])
def test_what_the_cluster_would_refuse_of_a_finished_object_ends_planning_at_its_field(row: dict[str, Any]) -> None:
    spec = run_spec("torch", overrides=[{"dependencies": [dependency(row)]}])
    manifest = {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "WorkloadRun", "metadata": {"name": "demo"}}
    assert admit({**manifest, "spec": spec.to_dict()}).errors == (), "the row belongs into a table of admission"
    result = build(DEMO, spec, nodes(4))
    assert isinstance(result, Unplannable)
    assert (result.reason, result.wait) == ("OverrideError", False)
    assert result.message.startswith(f"the cluster would refuse {place(row)}{row['at']}: ")


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
def test_a_container_finds_volumes_that_a_runtime_patch_or_trainer_brings(framework: str) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    patch = of_pod({"volumes": [{"name": "v", "emptyDir": {}}]})["spec"]
    train_job = {"runtimePatches": [{"manager": "example.com/tool", "trainingRuntimeSpec": patch}]}
    overrides = [
        {"dependencies": [of_pod({"containers": [{"name": "node", "volumeMounts": mounts}]})]},
        {"jobTemplate": {"spec": {"workload": {"trainJob": train_job}}}},
    ]
    assert planned(run_spec(framework, overrides=overrides))


def test_a_container_without_its_volume_is_told_with_those_that_there_are() -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    override = {"dependencies": [of_pod({"containers": [{"name": "node", "volumeMounts": mounts}]})]}
    result = build(DEMO, run_spec("torch", overrides=[override]), nodes(4))
    assert isinstance(result, Unplannable)
    assert "containers[0].volumeMounts[1].name" in result.message
    assert "there is no such volume, only dshm" in result.message


def test_without_overrides_the_run_itself_is_to_blame() -> None:
    claim = {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}
    result = build(DEMO, run_spec("torch", resources=claim), nodes(4))
    assert isinstance(result, Unplannable)
    assert result.reason == "BuildFailed"


def test_an_object_that_a_job_template_brings_is_judged_too() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}}
    result = build(DEMO, run_spec(overrides=[{"jobTemplate": {"spec": {"dependencies": [claim]}}}]), nodes(4))
    assert isinstance(result, Unplannable)
    assert result.message == "the cluster would refuse PersistentVolumeClaim x: spec: Required value: must be given"
