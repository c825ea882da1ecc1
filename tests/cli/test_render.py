"""render prints a v1 List and nothing else on stdout; the plan is told beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.calling import call

EXAMPLES = Path(__file__).parents[2] / "examples"
BANDWIDTH = str(EXAMPLES / "nccl-all-reduce-bandwidth.yaml")
MIXED = str(EXAMPLES / "nodes" / "aws-mixed.yaml")


def test_yaml_and_json_are_the_same_list() -> None:
    as_yaml = call("render", BANDWIDTH, "--nodes", "aws/h100x8")
    as_json = call("render", "-f", BANDWIDTH, "--nodes", "aws/h100x8", "-o", "json")
    assert (as_yaml.code, as_json.code) == (0, 0)
    assert yaml.safe_load(as_yaml.out) == as_json.document
    assert as_json.document["kind"] == "List"
    kinds = [item["kind"] for item in as_json.document["items"]]
    assert kinds == ["TrainingRuntime", "Job", "TrainJob", "Job", "TrainJob"]


def test_the_plan_is_told_first_on_stderr() -> None:
    said = call("render", BANDWIDTH, "--nodes", MIXED).err
    assert "aws, h100, 8 GPUs a node" in said
    assert "nodes: 8 targeted, 4 eligible, 4 excluded" in said
    assert "excluded, GPUs missing: 7 of its 8 are allocatable: ip-10-0-1-14.us-east-2.compute.internal" in said
    assert "each group: 4 node pods, each asks for 8 nvidia.com/gpu, 32 vpc.amazonaws.com/efa" in said
    assert "aws/efa-env-h100 (h100) changed mpiArgs, trainer.env" in said


def test_groups_are_told_by_domain_and_devices_as_claims() -> None:
    said = call("render", BANDWIDTH, "--nodes", "aws/gb200x36").err
    assert "domain nn-0: group 0 (gpu-0000 .. gpu-0003, 4 nodes)" in said
    assert "claim compute-domain" in said


def test_a_missing_fabric_is_told_with_its_remedy(tmp_path: Path) -> None:
    nodes = call("run", BANDWIDTH, "--dry-run", "--nodes", "aws/h100x4", "-o", "json").document
    assert nodes["plan"]["targeted"] == 4
    inventory = yaml.safe_load(Path(EXAMPLES / "nodes" / "aws-h100x8.yaml").read_text())
    for node in inventory["items"]:
        node["status"]["allocatable"].pop("vpc.amazonaws.com/efa")
    file = tmp_path / "nodes.yaml"
    file.write_text(yaml.safe_dump(inventory))
    called = call("render", BANDWIDTH, "--nodes", str(file))
    assert (called.code, called.out) == (1, "")
    assert "FabricResourceMissing" in called.err
    assert "mlnxPerNode" in called.err
    assert "error" in json.loads(call("render", BANDWIDTH, "--nodes", str(file), "-o", "json").out)


def measured_with(folder: Path, profile: str, *others: dict[str, object]) -> str:
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    run["spec"]["bandwidthMeasurement"]["logProfileRef"] = profile
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump_all([run, *others]))
    return str(file)


PLANS = [("render",), ("run", "--dry-run")]


@pytest.mark.parametrize("words", PLANS, ids=" ".join)
def test_a_profile_that_cannot_fit_is_told_as_the_run_would_end(tmp_path: Path, words: tuple[str, ...]) -> None:
    file = measured_with(tmp_path, "nccl-loopback")
    called = call(*words, file, "--nodes", "aws/h100x4")
    assert called.code == 1
    told = "LogProfileUnfit: LogProfile nccl-loopback reads replicatedJob node"
    assert told in called.out + called.err
    simulated = call("simulate", file, "--nodes", "aws/h100x4", "-o", "json")
    assert simulated.code == 1
    assert simulated.document["workloadRun"]["status"]["verdictReasons"][0].startswith(told)


@pytest.mark.parametrize("words", PLANS, ids=" ".join)
def test_a_profile_that_only_the_cluster_may_have_is_a_warning(tmp_path: Path, words: tuple[str, ...]) -> None:
    called = call(*words, measured_with(tmp_path, "of-our-own"), "--nodes", "aws/h100x4")
    assert called.code == 0
    assert "warning: LogProfile of-our-own" in called.out + called.err


def test_a_profile_that_comes_with_the_run_is_known(tmp_path: Path) -> None:
    own: dict[str, object] = {
        "apiVersion": "cre.nvidia.com/v1alpha1",
        "kind": "LogProfile",
        "metadata": {"name": "of-our-own"},
        "spec": {
            "timestamp": {"layout": "2006-01-02 15:04:05"},
            "patterns": {"bandwidthResult": {"regex": r"(?P<size>\d+) (?P<algBW>\S+) (?P<busBW>\S+)"}},
        },
    }
    called = call("render", measured_with(tmp_path, "of-our-own", own), "--nodes", "aws/h100x4")
    assert (called.code, "of-our-own" in called.err) == (0, False)


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_a_refused_run_is_1(tmp_path: Path, output: str) -> None:
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump({**run, "spec": {**run["spec"], "numNodes": 0}}))
    called = call("render", str(file), "--nodes", "aws/h100x8", "-o", output)
    assert called.code == 1
    assert "spec.numNodes" in called.out
