"""simulate plays whole runs: verdicts as exit codes, one JSON document, every form of report, what it would cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from cli.reporting.document import KEYS
from cli.simulate import KEYS as KEYS_OF_SIMULATION
from cli.simulator.scenario import FIELDS, OUTCOME_MEANINGS, OUTCOMES
from tests.cli.calling import call

EXAMPLES = Path(__file__).parents[2] / "examples"
BANDWIDTH = str(EXAMPLES / "nccl-all-reduce-bandwidth.yaml")


def scenario(folder: Path, *jobs: dict[str, Any]) -> str:
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump({"jobs": list(jobs)}))
    return str(file)


def test_the_document_has_the_keys_of_the_contract() -> None:
    called = call("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "-o", "json")
    assert called.code == 0
    assert list(called.document)[:6] == ["workloadRun", "objects", "events", "virtualSeconds", "groups", "nodes"]
    assert called.document["workloadRun"]["status"]["verdict"] == "Passed"


def test_every_key_of_the_document_is_documented(tmp_path: Path) -> None:
    rules = {"nodes": ["gpu-0001"], "outcome": "Failed"}, {"nodes": ["gpu-00"]}
    words = ("--estimate", "--scenario", scenario(tmp_path, *rules), "-o", "json")
    document = call("simulate", BANDWIDTH, "--nodes", "aws/gb200x8", *words).document
    assert document.keys() <= KEYS.keys() | KEYS_OF_SIMULATION.keys()
    assert KEYS_OF_SIMULATION.keys() | {"groups", "nodes"} <= document.keys()
    for group in document["groups"]:
        assert all(f"`{key}`" in KEYS["groups"] for key in group)
    for state, nodes in document["nodes"].items():
        assert all(f"`{key}`" in KEYS["nodes"] for key in (state, *(key for node in nodes for key in node)))
    assert all(f"`{key}`" in KEYS_OF_SIMULATION["estimate"] for key in document["estimate"])


@pytest.mark.parametrize(
    ("job", "code", "verdict"),
    [
        pytest.param({"outcome": "Succeeded"}, 0, "Passed", id="passed is 0"),
        pytest.param({"nodes": ["gpu-0001"], "outcome": "Failed"}, 1, "Failed", id="failed is 1"),
        pytest.param({"nodes": ["gpu-0001"], "outcome": "Suspended"}, 4, "under way", id="not ended is 4"),
    ],
)
def test_verdicts_are_exit_codes(tmp_path: Path, job: dict[str, Any], code: int, verdict: str) -> None:
    called = call(
        "simulate", BANDWIDTH, "--nodes", "aws/h100x8", "--scenario", scenario(tmp_path, job), "--until", "2h"
    )
    assert called.code == code
    assert f"default/nccl-all-reduce-bandwidth: {verdict}" in called.out


def written(folder: Path, *others: dict[str, Any], **fields: Any) -> str:
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    run["spec"] |= fields
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump_all([*others, run]))
    return str(file)


def test_a_null_that_deletes_is_played(tmp_path: Path) -> None:
    override = {"jobTemplate": {"spec": {"workload": {"trainJob": {"trainer": {"env": None}}}}}}
    called = call("simulate", written(tmp_path, overrides=[override]), "--nodes", "aws/h100x4")
    assert (called.code, called.err) == (0, "")


@pytest.mark.parametrize("output", ["text", "json"])
def test_what_is_refused_beside_the_run_is_a_refusal_too(tmp_path: Path, output: str) -> None:
    profile = {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "LogProfile", "metadata": {"name": "own"}, "spec": {}}
    called = call("simulate", written(tmp_path, profile), "--nodes", "aws/h100x4", "-o", output)
    assert called.code == 1
    assert "spec" in (called.document["error"]["errors"][0]["field"] if output == "json" else called.out)


def test_nodes_that_were_left_out_make_it_incomplete() -> None:
    nodes = str(EXAMPLES / "nodes" / "aws-mixed.yaml")
    called = call("simulate", BANDWIDTH, "--nodes", nodes)
    assert called.code == 3
    assert "because node ip-10-0-1-12.us-east-2.compute.internal excluded: cordoned" in called.out


def test_every_form_of_report_is_there(tmp_path: Path) -> None:
    failing = scenario(tmp_path, {"nodes": ["gpu-0001"], "outcome": "Failed", "after": "5s"})
    words = ("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "--scenario", failing, "-o")
    assert call(*words, "nodes").out == "gpu-0001\n"
    assert ElementTree.fromstring(call(*words, "junit").out).tag == "testsuites"
    assert call(*words, "markdown").out.startswith("# default/nccl-all-reduce-bandwidth: ❌ Failed")
    assert call(*words, "html").out.startswith("<!doctype html>")


def test_what_it_would_cost_is_told() -> None:
    words = ("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "--estimate")
    out = call(*words).out
    assert "what it would cost a cluster:" in out
    costs = call(*words, "-o", "json").document["estimate"]
    assert costs["objects"]["TrainJob.trainer.kubeflow.org"] == 2
    assert costs["apiWrites"]["metacontroller"] > 10
    assert costs["apiWritesPerGroup"] == pytest.approx(sum(costs["apiWrites"].values()) / 2, abs=0.1)


@pytest.mark.parametrize("output", ["html", "markdown", "nodes"])
def test_beside_other_forms_the_estimate_is_told_too(output: str) -> None:
    called = call("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "--estimate", "-o", output)
    assert "what it would cost a cluster:\n  time: " in called.err
    assert "what it would cost" not in called.out


def test_how_long_workloads_run_is_asked_for() -> None:
    words = ("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "-o", "json")
    short, long = (call(*words, "--run-time", time).document["virtualSeconds"] for time in ("60s", "20m"))
    assert short + 1100 < long < short + 1200


def test_more_groups_cost_more_time_where_they_wait_for_each_other(tmp_path: Path) -> None:
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    run["spec"]["orchestration"] = {"maxConcurrent": 1}
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(run))
    words = ("--nodes", "aws/h100x16", "-o", "json")
    alone = call("simulate", str(file), *words).document["virtualSeconds"]
    together = call("simulate", BANDWIDTH, *words).document["virtualSeconds"]
    assert alone > 3 * together


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--nodes"),
        (("--nodes", "aws/h100x8"), "give one FILE"),
        ((BANDWIDTH, "-f", BANDWIDTH, "--nodes", "aws/h100x8"), "give one FILE"),
        ((BANDWIDTH,), "--nodes"),
        ((BANDWIDTH, "--nodes", "mars/h100x8"), "unknown platform"),
        ((BANDWIDTH, "--nodes", "aws/h100x8", "--until", "soon"), "--until: 'soon' is no duration"),
        ((BANDWIDTH, "--nodes", "aws/h100x8", "--run-time", "-1s"), "--run-time"),
        ((BANDWIDTH, "--nodes", "aws/h100x8", "--scenario", "/nonexistent"), "cannot be read"),
        (("/nonexistent", "--nodes", "aws/h100x8"), "No such file"),
    ],
)
def test_what_cannot_be_done_at_all_is_2(words: tuple[str, ...], said: str) -> None:
    called = call("simulate", *words)
    assert (called.code, called.out) == (2, "")
    assert said in called.err


def test_a_refused_run_is_1_also_in_json(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    run = yaml.safe_load(Path(BANDWIDTH).read_text())
    file.write_text(yaml.safe_dump({**run, "spec": {**run["spec"], "image": ""}}))
    called = call("simulate", str(file), "--nodes", "aws/h100x8", "-o", "json")
    assert called.code == 1
    assert called.document["error"]["errors"][0]["field"] == "spec.image"


NEVER = {"nodes": ["gpu-00"], "outcome": "Failed"}


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([NEVER], "jobs[0] never applied: there is no node gpu-00"),
        ([{"nodes": ["a", "b"]}], "jobs[0] never applied: there is no node a and 1 more"),
        ([{"after": "5s"}, {"iteration": 1}], "jobs[1] never applied: no Job that ran matches it, or an earlier rule"),
        ([{"iteration": 2}], "jobs[0] never applied: no Job that ran matches it"),
        ([{"nodes": ["gpu-0000", "gpu-00"]}], ""),
        ([], ""),
    ],
)
def test_a_rule_that_never_applies_is_told(tmp_path: Path, jobs: list[dict[str, Any]], said: str) -> None:
    called = call("simulate", BANDWIDTH, "--nodes", "aws/h100x4", "--scenario", scenario(tmp_path, *jobs))
    assert called.code == 0
    assert called.err.startswith(f"{tmp_path / 'scenario.yaml'}: {said}" if said else "")
    assert bool(called.err) == bool(said)


def test_a_rule_that_never_applies_stands_in_the_document(tmp_path: Path) -> None:
    file = scenario(tmp_path, {"nodes": ["gpu-0001"], "after": "5s"}, NEVER)
    called = call("simulate", BANDWIDTH, "--nodes", "aws/h100x4", "--scenario", file, "-o", "json")
    assert called.document["rulesNeverApplied"] == [{"rule": "jobs[1]", "message": "there is no node gpu-00"}]


def test_nodes_that_cannot_be_read_are_told_alike_by_every_command(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    labels = {"nvidia.com/gpu.present": "true"}
    status = {"conditions": [{"type": "Ready", "status": None}]}
    file.write_text(yaml.safe_dump({"kind": "Node", "metadata": {"name": "n", "labels": labels}, "status": status}))
    for words in (("simulate", BANDWIDTH), ("render", BANDWIDTH), ("run", BANDWIDTH, "--dry-run")):
        called = call(*words, "--nodes", str(file))
        assert (called.code, called.out) == (2, "")
        assert called.err == f"error: {file}: node n: status.conditions[0].status: Expected `str`, got `null`\n"


def test_gpus_of_a_node_may_be_written_as_a_number(tmp_path: Path) -> None:
    nodes = yaml.safe_load((EXAMPLES / "nodes" / "aws-h100x8.yaml").read_text())
    for node in nodes["items"]:
        node["status"]["allocatable"]["nvidia.com/gpu"] = 8
    file = tmp_path / "nodes.yaml"
    file.write_text(yaml.safe_dump(nodes))
    assert call("simulate", BANDWIDTH, "--nodes", str(file)).code == 0
    assert call("render", BANDWIDTH, "--nodes", str(file)).code == 0


VERDICTS = {
    "exec-command": "Passed",
    "nccl-all-reduce": "Incomplete",  # it asks a test that trains nothing for goodput
    "nccl-all-reduce-bandwidth": "Passed",
    "torch-checkpoints": "Passed",
    "torch-training": "Passed",
}


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_ends_as_it_says(example: Path) -> None:
    assert call("validate", str(example)).code == 0
    document = call("simulate", str(example), "--nodes", "aws/h100x8", "-o", "json").document
    assert document["workloadRun"]["status"]["verdict"] == VERDICTS[example.stem]


@pytest.mark.parametrize("file", sorted((EXAMPLES / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_scenario_applies(file: Path) -> None:
    called = call("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "--scenario", str(file), "-o", "json")
    assert (called.code, called.err) == (1, "")
    assert "rulesNeverApplied" not in called.document


def test_the_node_of_the_example_is_found() -> None:
    file = EXAMPLES / "scenarios" / "one-bad-node.yaml"
    words = ("simulate", BANDWIDTH, "--nodes", "aws/h100x8", "--scenario", str(file), "-o")
    assert call(*words, "nodes").out == "gpu-0001\n"
    (failed,) = call(*words, "json").document["nodes"]["failed"]
    assert (failed["name"], failed["reason"]) == ("gpu-0001", "WorkloadFailed")


def test_every_outcome_and_field_of_a_rule_is_documented(tmp_path: Path) -> None:
    assert tuple(OUTCOME_MEANINGS) == OUTCOMES
    rule = {"nodes": ["gpu-0000"], "iteration": 1, "attempt": 0, "outcome": "Failed", "after": "5s", "exitCode": 2}
    log = tmp_path / "words.log"
    log.write_text("words\n")
    whole = {**rule, "log": log.name}
    assert set(whole) == set(FIELDS)
    called = call("simulate", BANDWIDTH, "--nodes", "aws/h100x4", "--scenario", scenario(tmp_path, whole))
    assert called.code == 1
