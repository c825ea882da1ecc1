"""What ResourceQuotas leave to a run: held against what its pods ask for, whoever made them ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sync_hooks.api.observed import LiveObject
from sync_hooks.execution.quota import too_small, what_is_left
from sync_hooks.planning.plan import Plan
from tests.support.hooks import live, manifest
from tests.support.nodes import nodes
from tests.support.overriding import overridden
from tests.support.planned import planned
from tests.support.runs import run_spec


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> LiveObject:
    return live(manifest("ResourceQuota", "small", spec={"hard": hard, **spec}, status={"used": used or {}}))


def refused(plan: Plan, *quotas: LiveObject) -> str:
    """Return the words that end planning, empty where nothing does."""
    found = too_small(plan, quotas)
    assert found is None or found.reason == "QuotaTooSmall"
    return found.message if found else ""


def warned(plan: Plan, *quotas: LiveObject) -> Sequence[str]:
    return what_is_left(plan, quotas)


def test_a_quota_that_no_group_fits_into_ends_planning():
    assert refused(planned(), quota({"requests.nvidia.com/gpu": "15"})) == (
        "a group needs 16 requests.nvidia.com/gpu, ResourceQuota small allows 15: it would never start"
    )


def test_a_quota_that_is_used_up_is_a_warning():
    assert warned(planned(), quota({"pods": "10"}, {"pods": "9"})) == [
        "ResourceQuota small leaves 1 pods, a group needs 2: groups wait until others have ended"
    ]


def test_a_quota_of_a_scope_says_nothing_of_these_pods():
    assert not refused(planned(), quota({"pods": "0"}, scopes=["BestEffort"]))


VALUES = {"cpu": "8", "memory": "64Gi"}
COUNTED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
INIT = {"name": "fetch", "image": "fetch:1"}


@pytest.mark.parametrize("resource", COUNTED)
@pytest.mark.parametrize("framework", ["exec", "mpi", "torch"])
def test_a_run_with_limits_starts_under_any_quota_of_cpu_and_memory(framework, resource):
    plan = planned(run_spec(framework, resources={"limits": VALUES}))
    assert not refused(plan, quota({resource: "1Pi"}))
    assert not warned(plan, quota({resource: "1Pi"}))


@pytest.mark.parametrize(
    ("spec", "lacking"),
    [
        pytest.param({}, "node", id="workers without values"),
        pytest.param({"resources": {"limits": VALUES}, "initContainers": [INIT]}, "fetch", id="an init container"),
        pytest.param({"initContainers": [INIT]}, "fetch, node", id="both"),
    ],
)
@pytest.mark.parametrize("resource", COUNTED)
def test_each_container_without_a_value_that_a_quota_counts_is_named_although_others_have_one(resource, spec, lacking):
    assert warned(planned(run_spec("mpi", **spec)), quota({resource: "1Pi"})) == [
        f"ResourceQuota small counts {resource}, which containers of this run do not set ({lacking}): "
        "their pods are refused unless a LimitRange sets it"
    ]


def test_requests_are_no_limits_for_a_quota():
    found = warned(planned(run_spec(resources={"requests": VALUES})), quota(dict.fromkeys(COUNTED, "1Pi")))
    assert [warning.split(", which")[0].split()[-1] for warning in found] == ["limits.cpu", "limits.memory"]


def of_runtime(**pod: Any) -> dict[str, Any]:
    """Override the workers' pods in the runtime."""
    return {"overrides": [overridden(**pod)]}


def of_trainer(resources: dict[str, Any]) -> dict[str, Any]:
    """Override the trainer's resources."""
    trainer = {"resourcesPerNode": resources}
    return {"overrides": [{"jobTemplate": {"spec": {"workload": {"trainJob": {"trainer": trainer}}}}}]}


def amounts(count: str | None) -> dict[str, Any]:
    return {part: {"nvidia.com/gpu": count} for part in ("limits", "requests")}


FEWER = {"name": "node", "resources": amounts("4")}
NONE = {"name": "node", "resources": amounts(None)}
SIDECAR = {"name": "beside", "image": "x", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
FIRST = {"name": "first", "image": "x", "resources": {"limits": {"cpu": "30"}}}
CPU = {"resources": {"requests": {"cpu": "10"}, "limits": {"cpu": "20"}}}
GPUS = "requests.nvidia.com/gpu"
CLAIMED = nodes(2, platform="nscale", product="NVIDIA-GB300", gpus="4", resources={"nscale.com/rdmashare": "1"})
MORE = {"gpusPerNode": 4, "resources": {"limits": {"nvidia.com/gpu": "8"}}}


@pytest.mark.parametrize(
    ("framework", "fields", "resource", "needed"),
    [
        pytest.param("exec", {}, GPUS, "16", id="GPUs of two nodes"),
        pytest.param("exec", {}, "requests.vpc.amazonaws.com/efa", "64", id="interfaces"),
        pytest.param("mpi", of_runtime(containers=[FEWER]), GPUS, "8", id="fewer GPUs by an override"),
        pytest.param("torch", of_trainer(amounts("2")), GPUS, "4", id="fewer GPUs by the trainer's resources"),
        pytest.param("exec", MORE, GPUS, "16", id="more GPUs than are used"),
        pytest.param("exec", CPU, "requests.cpu", "20", id="CPUs requested"),
        pytest.param("exec", CPU, "cpu", "20", id="CPUs by their short name"),
        pytest.param("exec", CPU, "limits.cpu", "40", id="CPUs limited"),
        pytest.param("mpi", CPU, "limits.cpu", "42", id="the launcher's too"),
        pytest.param("exec", {**CPU, "initContainers": [SIDECAR]}, "requests.cpu", "26", id="a sidecar"),
        pytest.param("exec", {**CPU, "initContainers": [FIRST]}, "requests.cpu", "60", id="an init container"),
        pytest.param("exec", {**CPU, "initContainers": [SIDECAR, FIRST]}, "requests.cpu", "66", id="both at once"),
        pytest.param("exec", {**CPU, "initContainers": [FIRST, SIDECAR]}, "requests.cpu", "60", id="one after another"),
        pytest.param("exec", of_runtime(resources={"limits": {"cpu": "7"}}), "cpu", "14", id="of the pod itself"),
        pytest.param("mpi", {}, "pods", "3", id="pods"),
        pytest.param("mpi", {}, "count/jobs.batch", "2", id="Jobs of the pods"),
        pytest.param("mpi", {}, "count/jobsets.jobset.x-k8s.io", "1", id="JobSets"),
    ],
)
def test_a_group_is_held_against_a_quota_by_what_its_pods_ask_for(framework, fields, resource, needed):
    plan = planned(run_spec(framework, **fields), nodes(2, resources={"vpc.amazonaws.com/efa": "32", "cpu": "190"}))
    assert not refused(plan, quota({resource: needed}))
    said = refused(plan, quota({resource: f"{int(needed) * 1000 - 500}m"}))
    assert said.startswith(f"a group needs {needed} {resource}, ResourceQuota small allows ")


@pytest.mark.parametrize(
    ("hosts", "fields"),
    [
        pytest.param(nodes(2), of_runtime(containers=[NONE]), id="an override leaves none"),
        pytest.param(CLAIMED, {}, id="GPUs are claimed as devices"),
    ],
)
def test_a_quota_of_what_no_pod_asks_for_refuses_nothing(hosts, fields):
    assert not refused(planned(run_spec(**fields), hosts), quota({GPUS: "1"}))


def test_limits_of_devices_are_what_no_quota_counts():
    assert not refused(planned(), quota({"limits.nvidia.com/gpu": "1"}))


def test_what_is_left_is_counted_in_parts_too():
    plan = planned(run_spec(resources={"requests": {"cpu": "500m"}}))
    assert warned(plan, quota({"requests.cpu": "2"}, {"requests.cpu": "1250m"})) == [
        "ResourceQuota small leaves 0.75 requests.cpu, a group needs 1: groups wait until others have ended"
    ]
