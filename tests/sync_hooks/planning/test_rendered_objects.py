"""What becomes of a plan: Jobs, their own objects, TrainJobs; and that all of it is what the APIs take."""

from __future__ import annotations

import copy

import pytest

from sync_hooks.api.job import JobSpec
from sync_hooks.planning.job import MOST_LAUNCHER_NODES
from sync_hooks.planning.plan import decode, encode
from sync_hooks.planning.trainjob import render_train_job
from tests.support.nodes import node, nodes
from tests.support.official import check_official
from tests.support.planned import planned, rendered_job, train_job_of
from tests.support.runs import FRAMEWORKS, run_spec

GB200 = {"product": "NVIDIA-GB200", "gpus": "4", "resources": {"vpc.amazonaws.com/efa": "4"}}
SHAPES = [
    ("aws", "NVIDIA-H100-80GB-HBM3", "8", None),
    ("aws", "NVIDIA-GB200", "4", {"vpc.amazonaws.com/efa": "4"}),
    ("aws", "NVIDIA-GB300", "4", {}),
    ("gcp", "NVIDIA-H100-80GB-HBM3", "8", {}),
    ("gcp", "NVIDIA-GB300", "4", {f"networking.gke.io.networks/rdma-{number}": "1" for number in range(4)}),
    ("gcp", "NVIDIA-RTX-PRO-6000-Blackwell", "4", {}),
    ("azure", "NVIDIA-H200", "8", {"nvidia.com/mlnxnics": "8"}),
    ("togetherai", "NVIDIA-B200", "8", {"nvidia.com/mlnxnics": "8"}),
    ("mistral", "NVIDIA-GB300", "4", {"rdma/ib": "63"}),
    ("onprem", "NVIDIA-GB200", "4", {"rdma/hca": "8"}),
    ("onprem", "NVIDIA-B300", "8", {"rdma/hca": "8"}),
    ("nscale", "NVIDIA-GB300", None, {"nscale.com/rdmashare": "1"}),
    ("oci", "NVIDIA-GB200", "4", {}),
    ("forge", "NVIDIA-A100-SXM4-80GB", "8", {}),
]
EVERYTHING = {
    "config": {"inline": {"a": "b"}},
    "checkpoint": {"storageSize": "1Gi", "maxRestarts": 1},
    "goodputMeasurement": {"logProfileRef": "megatron-training"},
    "bandwidthMeasurement": {"logProfileRef": "nccl-bandwidth", "sampleInterval": "30s"},
    "thresholds": {"goodputRatio": "value > 0.9"},
    "gangScheduler": {"schedulerName": "kai-scheduler"},
    "imagePullSecrets": [{"name": "registry"}],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "workloadMetadata": {"labels": {"team": "fleet"}},
    "resources": {"limits": {"memory": "100Gi"}},
}


def pod_specs(train_job):
    patch = next(one for one in train_job["spec"]["runtimePatches"] if one["manager"] == "cre.nvidia.com/controller")
    jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    return {job["name"]: job["template"]["spec"]["template"] for job in jobs}


def pinned_to(template):
    terms = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = terms["nodeSelectorTerms"]
    (requirement,) = term["matchExpressions"]
    assert (requirement["key"], requirement["operator"]) == ("kubernetes.io/hostname", "In")
    return requirement["values"]


@pytest.mark.parametrize("fields", [{}, EVERYTHING], ids=["plain", "everything"])
@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
@pytest.mark.parametrize(("platform", "product", "gpus", "resources"), SHAPES, ids=[f"{s[0]} {s[1]}" for s in SHAPES])
def test_every_object_is_what_its_api_takes(platform, product, gpus, resources, framework, fields):
    cluster = nodes(5, platform=platform, product=product, gpus=gpus, resources=resources)
    plan = planned(run_spec(framework, **fields), cluster)
    for group in range(len(plan.groups)):
        job = rendered_job(plan, group)
        JobSpec.model_validate(job["spec"])
        runtimes = [one for one in job["spec"].get("dependencies", ()) if one["kind"] == "TrainingRuntime"]
        for manifest in (train_job_of(job), *runtimes, *([plan.runtime] if plan.runtime else [])):
            check_official(manifest)
        assert not any(value is None for value in _leaves(job))


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
def test_all_pods_are_pinned_tolerant_and_labelled(framework):
    job = rendered_job(planned(run_spec(framework)), group=1)
    templates = pod_specs(train_job_of(job))
    assert list(templates) == (["node", "launcher"] if framework == "mpi" else ["node"])
    for template in templates.values():
        assert template["metadata"]["labels"] == {"cre.nvidia.com/job": "demo-g1-i1"}
        assert pinned_to(template) == ["gpu-002", "gpu-003"]
        assert template["spec"]["tolerations"]


def test_pods_are_pinned_by_the_nodes_own_hostname_labels():
    cluster = [node("a", labels={"kubernetes.io/hostname": "ip-1"}), node("b")]
    job = rendered_job(planned(cluster=cluster))
    assert pinned_to(pod_specs(train_job_of(job))["node"]) == ["ip-1", "b"]
    assert job["metadata"]["annotations"] == {"cre.nvidia.com/group-nodes": "a,b"}


def test_the_launcher_of_a_large_group_is_pinned_to_its_first_nodes():
    plan = planned(run_spec("mpi", numNodes=100), nodes(100))
    templates = pod_specs(train_job_of(rendered_job(plan)))
    assert len(pinned_to(templates["node"])) == 100
    assert pinned_to(templates["launcher"]) == pinned_to(templates["node"])[:MOST_LAUNCHER_NODES]


def test_more_variables_than_a_trainjob_takes_arguments_are_forwarded_all_the_same():
    variables = [{"name": f"MINE_{number}", "value": str(number)} for number in range(80)]
    train_job = train_job_of(rendered_job(planned(run_spec("mpi", env=variables))))
    trainer = train_job["spec"]["trainer"]
    assert trainer["command"] == ["sh", "-c"]
    assert len(trainer["args"]) == 1
    assert all(f"-x MINE_{number}={number} " in trainer["args"][0] for number in range(80))
    check_official(train_job)


def test_an_overflow_group_has_its_own_size():
    plan = planned(run_spec(numNodes=3, gpusPerNode=8), nodes(4))
    assert [rendered_job(plan, group)["spec"]["ranks"] for group in range(2)] == [24, 24]
    racks = [
        node(f"n{number}", labels={"topology.k8s.aws/network-node-layer-1": f"r{number % 3 // 2}"})
        for number in range(5)
    ]
    strict = planned(run_spec(orchestration={"testScale": "intra-rack"}), racks)
    sizes = [len(group.nodes) for group in strict.groups]
    assert sizes == [4, 1]
    jobs = [rendered_job(strict, group) for group in range(2)]
    assert [job["spec"]["workload"]["trainJob"]["trainer"]["numNodes"] for job in jobs] == sizes
    assert [job["spec"]["ranks"] for job in jobs] == [32, 8]


def test_rendering_leaves_the_plan_as_it_was():
    plan = planned(run_spec("mpi", **EVERYTHING), nodes(4, **GB200))
    before = copy.deepcopy(plan)
    jobs = [rendered_job(plan, group) for group in range(2)]
    jobs[0]["spec"]["workload"]["trainJob"]["trainer"]["numNodes"] = 99
    jobs[0]["metadata"]["labels"].clear()
    assert plan == before
    assert rendered_job(plan, 1) == jobs[1]


def test_a_plan_read_back_renders_the_same():
    plan = planned(run_spec("mpi", **EVERYTHING), nodes(4, **GB200))
    stored = decode(encode(plan))
    assert stored == plan
    assert encode(stored) == encode(plan)
    assert rendered_job(stored, 1) == rendered_job(plan, 1)


@pytest.mark.parametrize("field", ["ttlSecondsAfterFinished", "activeDeadlineSeconds"])
def test_nothing_ends_or_removes_a_workload_behind_our_back(field):
    patch = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "demo-runtime"},
        "spec": {
            "template": {
                "spec": {
                    field: 5,
                    "replicatedJobs": [
                        {"name": "node", "template": {"spec": {field: 5, "template": {"spec": {field: 5}}}}}
                    ],
                }
            }
        },
    }
    template = {"spec": {"workload": {"trainJob": {field: 5}}}}
    plan = planned(run_spec(overrides=[{"dependencies": [patch], "jobTemplate": template}]))
    assert field not in str(plan.runtime)
    assert field not in str(rendered_job(plan))
    direct = {"workload": {"trainJob": {field: 5, "runtimeRef": {"name": "x"}}}}
    assert field not in str(render_train_job("job", "default", direct, {}, 0))


def test_a_trainjob_of_a_job_that_nobody_planned_gets_its_pods_labelled():
    spec = {"workload": {"trainJob": {"runtimeRef": {"name": "theirs"}}}}
    train_job = render_train_job("mine", "default", spec, {"cre.nvidia.com/group": "0", "other": "x"}, 0)
    assert list(pod_specs(train_job)) == ["node"]
    assert train_job["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "cluster-readiness-engine",
        "cre.nvidia.com/job": "mine",
        "cre.nvidia.com/group": "0",
    }


def test_a_replicated_job_that_an_override_adds_is_pinned_and_labelled_too():
    extra = {
        "name": "watcher",
        "template": {"spec": {"template": {"spec": {"containers": [{"name": "w", "image": "w"}]}}}},
    }
    patch = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "demo-runtime"},
        "spec": {"template": {"spec": {"replicatedJobs": [extra]}}},
    }
    plan = planned(run_spec(overrides=[{"dependencies": [patch]}]))
    templates = pod_specs(train_job_of(rendered_job(plan)))
    assert list(templates) == ["node", "watcher"]
    assert pinned_to(templates["watcher"]) == ["gpu-000", "gpu-001"]


def test_another_managers_patch_is_left_alone():
    foreign = {
        "manager": "example.com/other",
        "trainingRuntimeSpec": {"template": {"metadata": {"labels": {"a": "b"}}}},
    }
    template = {"spec": {"workload": {"trainJob": {"runtimePatches": [foreign]}}}}
    train_job = train_job_of(rendered_job(planned(run_spec(overrides=[{"jobTemplate": template}]))))
    assert foreign in train_job["spec"]["runtimePatches"]
    assert list(pod_specs(train_job)) == ["node"]


@pytest.mark.parametrize(
    ("fields", "gpus", "apart"),
    [
        ({}, "8", False),
        ({"gpusPerNode": 4}, "8", True),
        ({"gpusPerNode": 5}, "8", False),
        ({"resources": {"limits": {"nvidia.com/gpu": "2"}}}, "8", True),
        ({"resources": {"limits": {"nvidia.com/gpu": "0"}}}, "8", True),
    ],
    ids=["whole nodes", "half a node", "more than half", "fewer by resources", "none"],
)
def test_workers_keep_apart_where_a_node_has_room_for_two(fields, gpus, apart):
    job = rendered_job(planned(run_spec("mpi", **fields), nodes(2, gpus=gpus)))
    templates = pod_specs(train_job_of(job))
    assert ("podAntiAffinity" in templates["node"]["spec"]["affinity"]) is apart
    assert "podAntiAffinity" not in templates["launcher"]["spec"]["affinity"]


FEWER = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}
POD = {"containers": [{"name": "node", "resources": FEWER}]}
WORKERS = [{"name": "node", "template": {"spec": {"template": {"spec": POD}}}}]
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "metadata": {"name": "demo-runtime"},
    "spec": {"template": {"spec": {"replicatedJobs": WORKERS}}},
}
TRAINER = {"spec": {"workload": {"trainJob": {"trainer": {"resourcesPerNode": FEWER}}}}}


@pytest.mark.parametrize(
    ("framework", "override"),
    [
        pytest.param("mpi", {"dependencies": [RUNTIME]}, id="of the runtime under mpi"),
        pytest.param("torch", {"dependencies": [RUNTIME]}, id="of the runtime"),
        pytest.param("torch", {"jobTemplate": TRAINER}, id="of the trainer"),
    ],
)
def test_workers_keep_apart_where_an_override_lets_them_request_fewer_gpus(framework, override):
    job = rendered_job(planned(run_spec(framework, overrides=[override]), nodes(2, gpus="8")))
    assert "podAntiAffinity" in pod_specs(train_job_of(job))["node"]["spec"]["affinity"]


def _leaves(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value
