"""The command line against the real API server: runs, reports, rights, the kubectl plugin, and what pages look like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from cli.simulator.samples import Workload, nccl_table
from tests.cluster import build
from tests.cluster.cluster import Cluster
from tests.cluster.product import Product
from tests.cluster.run.runs import ended, example, sampled

FOUR_NODES = Workload("all_reduce", 32, ("gpu-0000", "gpu-0001", "gpu-0002", "gpu-0003"))
NCCL_LOG = "\n".join((*nccl_table(FOUR_NODES), ""))
ROOT = Path(__file__).parents[3]
NAME = "nccl-all-reduce-bandwidth"
TRAINING = "torch-training"
DIRECT = (sys.executable, "-m", "cli.main")


def workloadrun(
    cluster: Cluster, *words: str, kubeconfig: Path | None = None, program: tuple[str, ...] = DIRECT
) -> subprocess.CompletedProcess[str]:
    """Run the program in the test's namespace."""
    path = os.pathsep.join([str(Path(sys.executable).parent), str(build.tools_folder() / "bin"), os.environ["PATH"]])
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig or cluster.kubeconfig), "PATH": path}
    command = [*program, words[0], "--namespace", cluster.namespace, *words[1:]]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=240)


def document(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


@pytest.fixture
def eight_nodes(cluster: Cluster, product: Product) -> list[str]:
    cluster.run_for(3)
    cluster.logs(NCCL_LOG)
    return cluster.nodes("aws", "h100", 8)


def manifest(folder: Path, run: dict[str, Any]) -> str:
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump(run))
    return str(file)


def test_a_run_is_created_waited_for_and_reported(cluster: Cluster, eight_nodes: list[str], tmp_path: Path) -> None:
    file = manifest(tmp_path, sampled(example(NAME)))
    plan = workloadrun(cluster, "run", file, "--dry-run", "-o", "json")
    assert [group["nodes"] for group in document(plan)["plan"]["groups"]] == [eight_nodes[:4], eight_nodes[4:]]
    assert cluster.kubectl.find("workloadrun", NAME) is None
    done = workloadrun(cluster, "run", file, "--wait", "--timeout", "3m", "-o", "json")
    assert done.returncode == 0, done.stderr
    written = document(done)
    assert written["workloadRun"]["status"]["verdict"] == "Passed"
    assert [node["name"] for node in written["nodes"]["succeeded"]] == eight_nodes
    assert all(len(group["bandwidth"]["results"]) > 20 for group in written["groups"])
    assert "iteration 1 of 1: 0 of 2 groups done" in done.stderr
    assert workloadrun(cluster, "run", file).returncode == 2


def test_every_form_of_report_is_made_from_real_objects(
    cluster: Cluster, eight_nodes: list[str], tmp_path: Path
) -> None:
    cluster.fail_pods_on("gpu-0005", 3)
    cluster.logs("<script>alert(1)</script> NCCL WARN", nodes=["gpu-0005"])
    cluster.apply(sampled(example("torch-training")))
    ended(cluster, "torch-training")
    nodes = workloadrun(cluster, "report", "torch-training", "-o", "nodes")
    assert (nodes.returncode, nodes.stdout) == (1, "gpu-0005\n")
    junit = ElementTree.fromstring(workloadrun(cluster, "report", "torch-training", "-o", "junit").stdout)
    assert [case.get("type") for case in junit.iter("failure")].count("WorkloadFailed") >= 1
    page = workloadrun(cluster, "report", "torch-training", "-o", "html").stdout
    assert "&lt;script&gt;alert(1)&lt;/script&gt; NCCL WARN" in page
    assert "<script>" not in page
    text = workloadrun(cluster, "report", "torch-training").stdout
    assert f"{cluster.namespace}/torch-training: Failed" in text
    assert "exited with 3" in text


def test_status_and_unknown_names(cluster: Cluster, eight_nodes: list[str]) -> None:
    cluster.hang_pods_on("gpu-0000")
    cluster.apply(sampled(example(TRAINING)))
    cluster.eventually(lambda: "progress" in cluster.kubectl.get("workloadrun", TRAINING).get("status", {}))
    assert workloadrun(cluster, "status", TRAINING).returncode == 4
    assert TRAINING in workloadrun(cluster, "status").stdout
    unknown = workloadrun(cluster, "status", "torch-trainin")
    assert unknown.returncode == 2
    assert f"did you mean {TRAINING}?" in unknown.stderr
    waited = workloadrun(cluster, "status", TRAINING, "--wait", "--timeout", "5s")
    assert waited.returncode == 4
    assert "not ended within 5s" in waited.stderr


def test_progress_reads_bandwidth_as_columns(cluster: Cluster, eight_nodes: list[str]) -> None:
    cluster.run_for(25)
    cluster.apply(sampled(example(NAME)))
    waited = workloadrun(cluster, "status", NAME, "--wait", "--timeout", "3m")
    assert waited.returncode == 0, waited.stderr
    assert "bus bandwidth, GB/s so far: lowest" in waited.stdout


def test_cancelling_waits_until_the_nodes_are_free(cluster: Cluster, eight_nodes: list[str]) -> None:
    cluster.hang_pods_on("gpu-0000")
    cluster.apply(sampled(example(TRAINING)))
    cluster.eventually(lambda: cluster.kubectl.list("pods"), 60)
    done = workloadrun(cluster, "cancel", TRAINING, "--wait", "--timeout", "2m")
    assert (done.returncode, done.stdout) == (0, f"{cluster.namespace}/{TRAINING}: deleted\n"), done.stderr
    assert cluster.kubectl.list("pods") == []
    assert workloadrun(cluster, "cancel", TRAINING).returncode == 2


def test_what_the_cluster_refuses_is_told_by_field(cluster: Cluster, eight_nodes: list[str], tmp_path: Path) -> None:
    refused = workloadrun(cluster, "run", manifest(tmp_path, example(NAME, image="")))
    assert refused.returncode == 1
    assert "spec.image" in refused.stdout


def test_a_missing_right_is_named(cluster: Cluster, eight_nodes: list[str], tmp_path: Path) -> None:
    cluster.apply(example(NAME))
    stranger = user(cluster, tmp_path, "stranger")
    for words, right in (
        (("status", NAME), "user stranger cannot get workloadruns.cre.nvidia.com"),
        (("run", manifest(tmp_path, example("torch-training"))), "cannot create workloadruns.cre.nvidia.com"),
        (("cancel", NAME), "cannot get workloadruns.cre.nvidia.com"),
    ):
        done = workloadrun(cluster, *words, kubeconfig=stranger)
        assert done.returncode == 2
        assert right in done.stderr, done.stderr
        assert f"in namespace {cluster.namespace}" in done.stderr


def test_a_viewer_of_the_namespace_gets_a_report_without_reading_nodes(
    cluster: Cluster, eight_nodes: list[str], tmp_path: Path
) -> None:
    cluster.apply(sampled(example(NAME)))
    ended(cluster, NAME)
    rules = [
        {"apiGroups": ["cre.nvidia.com"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]},
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "view"}, "rules": rules}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "view"}
    binding = {**{key: role[key] for key in ("apiVersion", "metadata")}, "kind": "RoleBinding", "roleRef": reference}
    cluster.apply(role, {**binding, "subjects": [subject]})
    done = workloadrun(cluster, "report", NAME, "-o", "json", kubeconfig=user(cluster, tmp_path, "viewer"))
    assert done.returncode == 0, done.stderr
    assert "notKnown" not in document(done)
    assert len(document(done)["nodes"]["succeeded"]) == 8


def test_kubectl_finds_it_as_a_plugin(cluster: Cluster, product: Product) -> None:
    done = workloadrun(cluster, "status", program=("kubectl", "workloadrun"))
    assert done.returncode == 0, done.stderr
    assert f"there are no runs in namespace {cluster.namespace}" in done.stderr


def user(cluster: Cluster, folder: Path, name: str) -> Path:
    """Write the kubeconfig of a user without any rights of its own."""
    identity = cluster.authority.issue(name, name, folder=folder)
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    for one in config["users"]:
        one["user"] = {"client-certificate": str(identity.certificate), "client-key": str(identity.key)}
    file = folder / f"{name}.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
