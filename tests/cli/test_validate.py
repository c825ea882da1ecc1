"""`workloadrun validate` says what admission says, in lines or as one JSON document, with an exit code to go by."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sync_hooks.admission.admit import admit
from tests.sync_hooks.admission.cases import cases, manifest

SEED = """\
apiVersion: cre.nvidia.com/v1alpha1
kind: WorkloadRun
metadata:
  name: nccl-all-reduce
spec:
  image: nvcr.io/nvidia/pytorch:26.01-py3
  framework:
    mpi:
      binary: /usr/local/bin/all_reduce_perf_mpi
      args: ["-b", "8", "-e", "32G", "-f", "2", "-n", "100"]
      mpirunPath: /usr/local/mpi/bin/mpirun
  numNodes: 4   # nodes per job group; all eligible nodes are partitioned into 4-node jobs
  gangScheduler:
    schedulerName: kai-scheduler
    queue: high-priority
  target:
    nodeSelector:
      nvidia.com/gpu.present: "true"
  bandwidthMeasurement:
    logProfileRef: nccl-bandwidth
    testType: all_reduce
  goodputMeasurement:
    logProfileRef: megatron-training
"""
BAD = manifest("WorkloadRun", {"image": "", "numNodes": "4"})


def workloadrun(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=Path(__file__).parents[2],
        check=False,
        timeout=120,
    )


def write(folder: Path, name: str, *objects: Any) -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects), "utf-8")
    return str(path)


def test_the_documented_example_is_allowed_and_told_that_it_measures_no_training() -> None:
    done = workloadrun("validate", "-", "-o", "json", stdin=SEED)
    assert (done.returncode, done.stderr) == (0, "")
    (result,) = json.loads(done.stdout)["results"]
    assert {name: result[name] for name in ("file", "kind", "name", "allowed", "errors", "warnings")} == {
        "file": "-",
        "kind": "WorkloadRun",
        "name": "nccl-all-reduce",
        "allowed": True,
        "errors": [],
        "warnings": [
            "spec.goodputMeasurement: spec.framework.mpi.binary tests all_reduce and trains nothing: "
            "no data, no verdict Passed"
        ],
    }
    written = yaml.safe_load(SEED)
    written["spec"]["framework"]["mpi"]["mpiImplementation"] = "OpenMPI"
    written["spec"]["orchestration"] = {"timeoutPerJob": "24h"}
    assert result["object"] == written


def test_a_refused_object_has_a_line_for_each_error(tmp_path: Path) -> None:
    file = write(tmp_path, "run.yaml", BAD)
    done = workloadrun("validate", file)
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{file}: spec.image: Required value: must not be empty",
        f'{file}: spec.numNodes: Invalid value: "4": must be an integer, not string',
    ]


def test_a_refused_object_has_its_errors_in_json(tmp_path: Path) -> None:
    done = workloadrun("validate", write(tmp_path, "run.yaml", BAD), "-o", "json")
    assert done.returncode == 1
    (result,) = json.loads(done.stdout)["results"]
    assert result["allowed"] is False
    assert result["errors"] == [
        {"field": "spec.image", "type": "FieldValueRequired", "message": "Required value: must not be empty"},
        {
            "field": "spec.numNodes",
            "type": "FieldValueTypeInvalid",
            "message": 'Invalid value: "4": must be an integer, not string',
        },
    ]


def test_every_object_of_every_file_is_judged(tmp_path: Path) -> None:
    good, listed = manifest("LogProfile", {}), {"apiVersion": "v1", "kind": "List", "items": [BAD, BAD]}
    files = [write(tmp_path, "a.yaml", good, None, good), write(tmp_path, "b.yaml", listed)]
    done = workloadrun("validate", *files, "-o", "json")
    assert done.returncode == 1
    assert [one["allowed"] for one in json.loads(done.stdout)["results"]] == [True, True, False, False]


def test_it_says_the_same_as_admission_of_the_whole_table(tmp_path: Path) -> None:
    objects = [obj for case in cases() for obj in (case.good, case.bad) if "\\0" not in json.dumps(obj)]
    file = tmp_path / "table.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), "utf-8")
    results = json.loads(workloadrun("validate", str(file), "-o", "json").stdout)["results"]
    for obj, result in zip(objects, results, strict=True):
        admitted = admit(obj)
        assert [error["field"] for error in result["errors"]] == [error.field for error in admitted.errors]
        assert result["object"] == admitted.object
        assert result["warnings"] == list(admitted.warnings)


def test_warnings_stand_beside_the_result(tmp_path: Path) -> None:
    run = manifest("WorkloadRun", {"target": {"nodeNames": []}})
    file = write(tmp_path, "run.yaml", run)
    done = workloadrun("validate", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{file}: warning: spec.target.nodeNames: is empty and restricts nothing\n"


@pytest.mark.parametrize("content", ["", "a: [", "kind: Pod\n", "[" * 5000], ids=["empty", "no-yaml", "a-pod", "deep"])
def test_a_file_that_cannot_be_read_is_an_error_in_one_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(content, "utf-8")
    done = workloadrun("validate", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {file}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\nb"], ids=repr)
def test_a_file_that_is_none_is_an_error(tmp_path: Path, name: str) -> None:
    done = workloadrun("validate", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_two_beats_one_and_the_rest_is_still_told(tmp_path: Path) -> None:
    file = write(tmp_path, "run.yaml", BAD)
    done = workloadrun("validate", str(tmp_path / "missing"), file)
    assert done.returncode == 2
    assert "spec.image: Required value" in done.stdout
    assert "missing: No such file or directory" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["validate", "missing.yaml", "-o", "json"], id="no-such-file"),
        pytest.param(["validate", "-ojson"], id="no-file"),
        pytest.param(["validate", "--output=json", "--nope", "x"], id="no-such-option"),
        pytest.param(["nope", "-o", "json"], id="no-such-command"),
    ],
)
def test_an_error_is_json_where_json_is_asked_for(words: list[str]) -> None:
    done = workloadrun(*words)
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert list(document) == ["error"]
    assert document["error"]["message"]


def test_help_is_no_error() -> None:
    done = workloadrun("--help")
    assert done.returncode == 0
    assert "validate" in done.stdout


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(json.dumps({**BAD, "metadata": {"name": "a\x1b[31m"}}), "utf-8")
    done = workloadrun("validate", str(file))
    assert "\x1b" not in done.stdout
