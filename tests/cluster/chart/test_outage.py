"""While admission is away: what is refused and how it says so, what goes on all the same, and what frees what hangs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.chart.release import CHART, NAME, Release
from tests.cluster.chart.rescue import rescue
from tests.support.kubectl import KubectlError

FINALIZER = "metacontroller.io/compositecontroller-cre-jobs-devices"
LARGEST_SPEC = 240_000  # bytes: what admission lets in


def run(name: str, **spec: Any) -> dict[str, Any]:
    exec_ = {"image": "example.test/work:1", "numNodes": 1, "framework": {"exec": {"command": ["true"]}}}
    return {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "WorkloadRun",
        "metadata": {"name": name},
        "spec": {**exec_, **spec},
    }


def job(name: str) -> dict[str, Any]:
    """Write a Job with devices as Metacontroller leaves it: with its finalizer."""
    metadata = {"name": name, "labels": {"cre.nvidia.com/devices": "true"}, "finalizers": [FINALIZER]}
    spec = {"workload": {"trainJob": {"runtimeRef": {"name": "none"}}}}
    return {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}


@pytest.fixture
def away(release3: Release) -> Iterator[Release]:
    """Return a release whose admission nobody reaches, with objects of ours that were there before."""
    kubectl = release3.cluster.kubectl
    kubectl("apply", "--server-side", "--force-conflicts", f"--filename={CHART}/templates/crds")
    kubectl("wait", "--for=create", "crd/jobs.cre.nvidia.com")
    many = [{"name": f"A_RATHER_LONG_NAME_{number:05}", "value": "x" * 40} for number in range(2400)]
    objects = [run("old"), run("large", env=many), job("held")]
    assert LARGEST_SPEC * 0.8 < len(json.dumps(objects[1]["spec"])) < LARGEST_SPEC
    release3.cluster.eventually(lambda: created(release3, objects))
    release3.install()
    release3.cluster.eventually(lambda: refusal(release3, run("probe")))
    yield release3
    if kubectl.find("jobs.cre.nvidia.com", "held"):
        kubectl("patch", "jobs.cre.nvidia.com", "held", "--type=merge", '--patch={"metadata":{"finalizers":null}}')


def created(release: Release, objects: list[dict[str, Any]]) -> bool:
    """Create objects, as soon as their definitions are served."""
    try:
        release.cluster.kubectl.apply(objects)
    except KubectlError:
        return False
    return True


def refusal(release: Release, obj: dict[str, Any]) -> str:
    """Return the words that creating an object is refused with, empty where it is not."""
    try:
        release.cluster.kubectl("create", "--dry-run=server", "--filename=-", input=json.dumps(obj))
    except KubectlError as error:
        return str(error)
    return ""


def attempt(release: Release, *arguments: str) -> str:
    """Run kubectl and return what it was refused with, empty where it was not."""
    try:
        release.cluster.kubectl(*arguments)
    except KubectlError as error:
        return str(error)
    return ""


LEAVE_THE_SPEC_ALONE = {
    "a label": ("label", "workloadrun", "old", "team=readiness"),
    "a label of a large one": ("label", "workloadrun", "large", "team=readiness"),
    "a finalizer": ("patch", "workloadrun", "old", "--type=merge", '-p={"metadata":{"finalizers":["a.b/c"]}}'),
    "no finalizer": ("patch", "workloadrun", "old", "--type=merge", '-p={"metadata":{"finalizers":null}}'),
    "a status": ("patch", "workloadrun", "old", "--subresource=status", "--type=merge", '-p={"status":{}}'),
}


def test_only_our_kinds_are_refused_and_only_when_a_spec_is_new(away: Release) -> None:
    text = refusal(away, run("new"))
    assert 'failed calling webhook "mutate.cre.nvidia.com"' in text
    assert f'no endpoints available for service "{NAME}-admission"' in text
    edit = attempt(away, "patch", "workloadrun", "old", "--type=merge", '-p={"spec":{"numNodes":2}}')
    assert "failed calling webhook" in edit
    assert refusal(away, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}) == ""
    refused = {name: attempt(away, *arguments) for name, arguments in LEAVE_THE_SPEC_ALONE.items()}
    assert refused == dict.fromkeys(LEAVE_THE_SPEC_ALONE, "")


def test_objects_can_be_deleted_and_what_hangs_is_freed_by_the_documented_line(away: Release, tmp_path: Path) -> None:
    kubectl = away.cluster.kubectl
    kubectl("delete", "workloadrun", "old", "large")
    kubectl("delete", "jobs.cre.nvidia.com", "held", "--wait=false")
    assert kubectl.get("jobs.cre.nvidia.com", "held")["metadata"]["deletionTimestamp"]
    rescue(away.cluster, "jobs.cre.nvidia.com", tmp_path)
    away.cluster.eventually(lambda: kubectl.find("jobs.cre.nvidia.com", "held") is None)
