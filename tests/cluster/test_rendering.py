"""What is rendered for every row of the platform table is what the real API server, Trainer and JobSet take.

Whole objects are applied with strict field validation; what becomes of them is read back from the pods.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sync_hooks.api.crd import crd
from sync_hooks.api.kinds import KINDS
from sync_hooks.api.quantity import parse_quantity
from sync_hooks.execution.quota import group_needs
from sync_hooks.planning.amounts import requests
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity
from sync_hooks.planning.pods import pods_of
from sync_hooks.planning.trainjob import render_train_job
from sync_hooks.runtimes.ssh import WORKER_START
from tests.cluster import build, devices
from tests.cluster.cluster import Cluster
from tests.support.kubectl import Kubectl, KubectlError
from tests.support.runs import FRAMEWORKS
from tests.support.shapes import EVERYTHING, SHAPES, plan_on

GANG = {"gangScheduler": {"schedulerName": "kai-scheduler", "queue": "high-priority"}}
Object = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: Path) -> Iterator[None]:
    """Serve our own kinds and, while these tests run, the device API that rows for NVLink need."""
    kubectl = Kubectl(control_plane / "kubeconfig", str(build.tools_folder() / "bin" / "kubectl"))
    own = [crd(kind) for kind in KINDS]
    kubectl.apply([*own, devices.definition()])
    kubectl.wait_for_definitions(devices.NAME, *(item["metadata"]["name"] for item in own))
    yield
    kubectl("delete", "crd", devices.NAME)


def apply(cluster: Cluster, *objects: Mapping[str, Any], dry_run: bool = False) -> None:
    """Apply objects one by one, not as a List: of a List kubectl would judge the fields instead of the API server."""
    stream = "\n---\n".join(json.dumps(item) for item in objects)
    words = ["--server-side", "--validate=strict", *(["--dry-run=server"] if dry_run else [])]
    cluster.kubectl("apply", *words, "-f", "-", input=stream)


def rendered(cluster: Cluster, name: str, shape: str, framework: str, **fields: Any) -> tuple[Plan, Object, Object]:
    """Return the plan, the Job of its only group, and the first TrainJob of that."""
    identity = RunIdentity(name, cluster.namespace)
    plan = plan_on(SHAPES[shape], framework, identity, **fields)
    job = render_job(plan, identity, name, 0, 1)
    metadata = job["metadata"]
    return plan, job, render_train_job(metadata["name"], cluster.namespace, job["spec"], metadata["labels"], 0)


def before_train_job(plan: Plan, job: Object) -> list[Object]:
    """Return all that exists before a TrainJob: the run's objects, and what the Job brings along."""
    return [*([plan.runtime] if plan.runtime else []), *plan.shared, *job["spec"].get("dependencies", ())]


def create(cluster: Cluster, plan: Plan, job: Object, train_job: Object) -> None:
    apply(cluster, *before_train_job(plan, job))
    cluster.eventually(lambda: _accepted(cluster, train_job), 30)


def _accepted(cluster: Cluster, *train_jobs: Object) -> bool:
    """Apply TrainJobs, unless Trainer has not seen their runtimes yet."""
    try:
        apply(cluster, *train_jobs)
    except KubectlError as error:
        if "must be created before" in str(error):
            return False
        raise
    return True


@pytest.mark.parametrize("shape", SHAPES)
def test_every_object_is_created_on_a_platform(cluster: Cluster, shape: str) -> None:
    made = [rendered(cluster, f"r-{framework}", shape, framework, **EVERYTHING) for framework in FRAMEWORKS]
    # dry: a stored Job would be taken up by the hooks, where they run beside these tests
    apply(cluster, *(job for _, job, _ in made), dry_run=True)
    apply(cluster, *(known for plan, job, _ in made for known in before_train_job(plan, job)))
    train_jobs = [train_job for _, _, train_job in made]
    cluster.eventually(lambda: _accepted(cluster, *train_jobs), 30)
    names = {train_job["metadata"]["name"] for train_job in train_jobs}
    cluster.eventually(lambda: names == {item["metadata"]["name"] for item in cluster.kubectl.list("jobsets")})


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (lambda job: job["spec"]["trainer"], r"spec\.trainer\.surplus"),
        (lambda job: pod_patch(job)["spec"], r"spec\.runtimePatches"),
    ],
    ids=["of the trainer", "of a pod"],
)
def test_a_field_that_nobody_knows_would_be_refused(
    cluster: Cluster, place: Callable[[Object], Object], message: str
) -> None:
    plan, job, train_job = rendered(cluster, "unknown", "aws-h100", "torch")
    apply(cluster, *before_train_job(plan, job))
    wrong = copy.deepcopy(train_job)
    place(wrong)["surplus"] = 1
    with pytest.raises(KubectlError, match=message):
        apply(cluster, wrong)


def pod_patch(train_job: Object) -> Object:
    [patch] = train_job["spec"]["runtimePatches"]
    worker: Object = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    template: Object = worker["template"]["spec"]["template"]
    return template


def pods(cluster: Cluster, count: int) -> dict[str, list[Object]]:
    """Wait for so many pods and return them by the replicatedJob that they belong to."""

    def look() -> list[Object]:
        found = cluster.kubectl.list("pods")
        return found if len(found) == count else []

    by_name: dict[str, list[Object]] = {}
    for pod in cluster.eventually(look):
        by_name.setdefault(pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"], []).append(pod)
    return by_name


def container(pod: Object) -> Object:
    [found] = [one for one in pod["spec"]["containers"] if one["name"] == "node"]
    return dict(found)


def variables(pod: Object) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container(pod)["env"]}


def forwarded(launcher: Object) -> dict[str, str | None]:
    """Return what mpirun gives to the ranks; None stands for a value that the launcher's environment has."""
    args = container(launcher)["args"]
    operands = [args[number + 1] for number, word in enumerate(args) if word == "-x"]
    assert len(operands) == len({operand.partition("=")[0] for operand in operands}), "mpirun refuses a name twice"
    return {name: value if equals else None for name, equals, value in (item.partition("=") for item in operands)}


def assert_pinned(pod: Object) -> None:
    [term] = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    values = ["gpu-0000", "gpu-0001"]
    assert term == {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": values}]}


def assert_placed_alike(pod: Object, job: Object) -> None:
    """Affinity, tolerations and labels: what puts a pod onto the group's nodes and lets it be found there."""
    assert_pinned(pod)
    assert {"operator": "Exists"} in pod["spec"]["tolerations"]
    assert pod["metadata"]["labels"]["cre.nvidia.com/job"] == job["metadata"]["name"]


def test_mpi_workers_keep_sshd_and_the_launcher_has_mpirun(cluster: Cluster) -> None:
    cluster.nodes("aws", "h100", 2)
    cluster.run_for(60)
    stored = {name: value for name, value in EVERYTHING.items() if name != "checkpoint"}  # there are no volumes to bind
    made = rendered(cluster, "ranks", "aws-h100", "mpi", **stored)
    create(cluster, *made)
    found = pods(cluster, 3)
    [launcher], workers = found["launcher"], found["node"]
    for worker in workers:
        assert (container(worker)["command"], container(worker)["args"]) == (["sh", "-c"], [WORKER_START])
    command = container(launcher)["command"]
    assert command == ["timeout", str(24 * 3600 + 60), "/usr/bin/mpirun"]
    assert container(launcher)["args"][-1] == "/usr/bin/all_reduce_perf"
    for pod in (launcher, *workers):
        assert container(pod)["image"] == "registry.example/image:1"
        assert (variables(pod)["MINE"], variables(pod)["NCCL_DEBUG"]) == ("1", "INFO")
        assert variables(pod)["WHERE"]["fieldRef"]["fieldPath"] == "spec.nodeName"
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        assert {mount["mountPath"] for mount in container(pod)["volumeMounts"]} >= {"/config", "/scratch"}
        assert pod["spec"]["initContainers"][0]["name"] == "first"
        assert_placed_alike(pod, made[1])
    passed = forwarded(launcher)
    assert (passed["MINE"], passed["WHERE"], passed["FI_PROVIDER"]) == ("1", None, "efa")
    added = {name for name in variables(launcher) if name.startswith("OMPI_MCA_")} | {"JOB_COMPLETION_INDEX"}
    assert set(variables(launcher)) - added == set(passed)


def test_under_kai_all_pods_come_at_once_with_queue_and_scheduler(cluster: Cluster) -> None:
    made = rendered(cluster, "gang", "aws-h100", "mpi", **GANG)
    create(cluster, *made)
    found = pods(cluster, 3)  # there are no nodes: the launcher does not wait for workers that run
    assert {name: len(members) for name, members in found.items()} == {"node": 2, "launcher": 1}
    for pod in (*found["node"], *found["launcher"]):
        assert pod["spec"]["schedulerName"] == "kai-scheduler"
        assert pod["metadata"]["labels"]["kai.scheduler/queue"] == "high-priority"
        assert_placed_alike(pod, made[1])
    for job in cluster.kubectl.list("jobs.batch"):
        assert job["metadata"]["labels"]["kai.scheduler/queue"] == "high-priority"
        assert job["spec"]["parallelism"] == job["spec"]["completions"]
    assert cluster.kubectl.get("trainjob", made[2]["metadata"]["name"])["metadata"]["labels"]["kai.scheduler/queue"]


def test_torch_pods_have_torchrun_and_its_rendezvous(cluster: Cluster) -> None:
    made = rendered(cluster, "train", "gcp-h100", "torch", **EVERYTHING)
    create(cluster, *made)
    workers = pods(cluster, 2)["node"]
    for pod in workers:
        assert (container(pod)["command"], container(pod)["args"]) == (["torchrun"], ["train.py"])
        found = variables(pod)
        assert (found["MINE"], found["PET_NNODES"], found["PET_NPROC_PER_NODE"]) == ("1", "2", "8")
        assert found["PET_MASTER_ADDR"].startswith(made[2]["metadata"]["name"])
        assert found["NCCL_FASTRAK_CTRL_DEV"] == "eth0"
        assert container(pod)["resources"]["limits"] == {"nvidia.com/gpu": "8", "memory": "100Gi"}


def test_exec_pods_have_the_command_and_nothing_of_a_framework(cluster: Cluster) -> None:
    made = rendered(cluster, "check", "forge-h100", "exec", **EVERYTHING)
    create(cluster, *made)
    for pod in pods(cluster, 2)["node"]:
        assert (container(pod)["command"], container(pod).get("args")) == (["dcgmi", "diag"], None)
        assert variables(pod)["MINE"] == "1"
        assert not any(name.startswith("PET_") for name in variables(pod))


def test_a_pod_of_a_platform_with_devices_claims_them(cluster: Cluster) -> None:
    made = rendered(cluster, "claims", "nscale-gb300", "torch")
    create(cluster, *made)
    job = made[1]["metadata"]["name"]
    for pod in pods(cluster, 2)["node"]:
        claims = {one["name"]: one["resourceClaimTemplateName"] for one in pod["spec"]["resourceClaims"]}
        assert claims == {"compute-domain": f"{job}-channel", "gpu": f"{job}-gpu", "rdma": f"{job}-rdma"}
        assert "nvidia.com/gpu" not in container(pod)["resources"].get("limits", {})
        assert {one["name"] for one in container(pod)["resources"]["claims"]} == set(claims)


RESOURCES = {"limits": {"cpu": "3", "memory": "8Gi"}, "requests": {"cpu": "2500m"}}
LITTLE = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "250m"}}
SIDECAR = {"name": "beside", "image": "x", "restartPolicy": "Always", "resources": LITTLE}
INIT = [SIDECAR, {"name": "first", "image": "x", "resources": {"limits": {"cpu": "4", "memory": "9Gi"}}}]
OF_NEW_KINDS = ("count/jobs.cre.nvidia.com", "count/trainjobs.trainer.kubeflow.org", "count/jobsets.jobset.x-k8s.io")
"""A quota controller counts these only half a minute after their definitions were made."""
OWN = {
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "securityContext": {"fsGroup": 5},
    "containers": [{"name": "node", "securityContext": {"privileged": True}}],
    **{"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}},
}


def overridden() -> list[Object]:
    """Patch the workers as a user may, and let the trainer have resources of its own."""
    job = {"name": "node", "template": {"spec": {"template": {"spec": OWN}}}}
    spec = {"template": {"spec": {"replicatedJobs": [job]}}}
    patches = [{"manager": "team.example.com/own", "trainingRuntimeSpec": spec}]
    train_job = {"runtimePatches": patches, "trainer": {"resourcesPerNode": {"limits": {"cpu": "5"}}}}
    return [{"jobTemplate": {"spec": {"workload": {"trainJob": train_job}}}}]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_pods_are_made_and_counted_by_a_quota_as_planning_counts_them(cluster: Cluster, framework: str) -> None:
    cluster.nodes("aws", "h100", 2)
    cluster.run_for(60)
    fields = {"resources": RESOURCES, "initContainers": INIT, "overrides": overridden()}
    made = rendered(cluster, "counted", "aws-h100", framework, **fields)
    needs = {name: amount for name, amount in group_needs(made[0]).items() if name not in OF_NEW_KINDS}
    hard = {"hard": dict.fromkeys(needs, "1P")}
    apply(cluster, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all"}, "spec": hard})
    cluster.eventually(lambda: cluster.kubectl.get("resourcequota", "all").get("status", {}).get("hard"), 30)
    before = used(cluster)
    create(cluster, *made)
    for name, found in pods(cluster, int(needs["pods"])).items():
        for pod in found:
            wanted = pods_of(made[0])[name]
            assert requests(pod["spec"]) == requests(wanted)
            assert {key: pod["spec"].get(key, {}) for key in ("nodeSelector", "securityContext")} == {
                key: wanted.get(key, {}) for key in ("nodeSelector", "securityContext")
            }
            own = container({"spec": wanted}).get("securityContext", {})
            assert container(pod).get("securityContext", {}) == own
            assert_pinned(pod)
    assert taken(before, used(cluster)) == needs


def used(cluster: Cluster) -> dict[str, Fraction]:
    told = cluster.kubectl.get("resourcequota", "all")["status"].get("used", {})
    return {name: parse_quantity(amount) or Fraction(0) for name, amount in told.items()}


def taken(before: Mapping[str, Fraction], after: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {name: amount - before.get(name, 0) for name, amount in after.items()}
