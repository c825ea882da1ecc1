"""A run's file is judged whole, once, by every command alike: what is wrong in it is a line with its place."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.inputs import shipped_profiles
from sync_hooks.api.model import API_VERSION
from tests.cli.calling import Called, call
from tests.cli.served import simulated

RUN: dict[str, Any] = {
    "apiVersion": API_VERSION,
    "kind": "WorkloadRun",
    "metadata": {"name": "small"},
    "spec": {
        "image": "registry.example/x:1",
        "framework": {"mpi": {"binary": "/x/all_reduce_perf", "mpirunPath": "/usr/bin/mpirun"}},
        "numNodes": 2,
        "bandwidthMeasurement": {"logProfileRef": "own"},
    },
}
SHIPPED = next(one for one in shipped_profiles() if one["metadata"]["name"] == "nccl-bandwidth")
PROFILE: dict[str, Any] = {**SHIPPED, "metadata": {"name": "own"}}
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
SECRET: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
CLAIM: dict[str, Any] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "p"}, "spec": {}}
WORKFLOW: dict[str, Any] = {"apiVersion": API_VERSION, "kind": "Workflow", "metadata": {"name": "w"}}

NODES = ("--nodes", "aws/h100x2")
COMMANDS = {
    "validate": ("validate",),
    "render": ("render", *NODES),
    "dry-run": ("run", "--dry-run", *NODES),
    "simulate": ("simulate", *NODES),
}
EVERY_COMMAND = pytest.mark.parametrize("command", COMMANDS)


def called_with(folder: Path, command: str, *objects: Any, output: str = "") -> Called:
    file = folder / "run.yaml"
    file.write_text(yaml.safe_dump_all(objects, sort_keys=False), "utf-8")
    name, *words = COMMANDS[command]
    return call(name, str(file), *words, *(("-o", output) if output else ()))


@EVERY_COMMAND
@pytest.mark.parametrize("other", [PROFILE, CONFIG_MAP, SECRET, CLAIM], ids=lambda obj: str(obj["kind"]))
def test_what_a_run_needs_may_stand_beside_it(tmp_path: Path, command: str, other: dict[str, Any]) -> None:
    run = copy.deepcopy(RUN)
    if other is not PROFILE:
        del run["spec"]["bandwidthMeasurement"]
    assert called_with(tmp_path, command, other, run).code == 0


PLACES: tuple[tuple[Any, ...], ...] = (
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "generateName"),
    ("metadata", "namespace"),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("metadata", "finalizers"),
    ("metadata", "ownerReferences"),
    ("metadata", "creationTimestamp"),
    ("metadata", "managedFields"),
    ("metadata", "resourceVersion"),
    ("spec",),
    ("data",),
    ("stringData",),
    ("status",),
)
WRONG: tuple[Any, ...] = (None, "foo", "", 5, 0.5, True, [], ["x"], [None], [{}], {}, {"name": ["x"]}, {"x": None})


def put(obj: dict[str, Any], place: tuple[str, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(obj)
    *above, last = place
    part = changed
    for name in above:
        part = part[name]
    part[last] = value
    return changed


@EVERY_COMMAND
@pytest.mark.parametrize("kind", ["WorkloadRun", "LogProfile", "ConfigMap", "Secret"])
def test_whatever_stands_in_a_file_is_played_or_refused_with_its_place(tmp_path: Path, command: str, kind: str) -> None:
    whole = [copy.deepcopy(obj) for obj in (RUN, PROFILE, CONFIG_MAP, SECRET, CLAIM)]
    number = next(number for number, obj in enumerate(whole) if obj["kind"] == kind)
    for place in PLACES:
        for value in WRONG:
            objects = [put(obj, place, value) if obj["kind"] == kind else obj for obj in whole]
            called = called_with(tmp_path, command, *objects)
            told = called.out + called.err
            assert "fault of workloadrun" not in told, (place, value, told)
            if called.code and not re.search(r"(?m)^\S+/\S+: (Failed|Incomplete)$", called.out):
                assert called.code in (1, 2), (place, value, told)
                assert f"run.yaml: document {number + 1}: " in told, (place, value, told)
                assert place[0] in told, (place, value, told)


MISTAKES = [
    pytest.param({**CONFIG_MAP, "metadata": "foo"}, 1, "metadata: Invalid value", id="metadata that is text"),
    pytest.param({**SECRET, "metadata": {}}, 1, "metadata.name: Required value", id="no name"),
    pytest.param({**PROFILE, "metadata": {"name": 5}}, 1, "metadata.name: Invalid value", id="a name that is none"),
    pytest.param({**PROFILE, "spec": None}, 1, "spec: Required value", id="a LogProfile without a spec"),
    pytest.param({**PROFILE, "spec": "foo"}, 1, "spec: Invalid value", id="a spec that is text"),
    pytest.param(WORKFLOW, 1, "spec: Required value", id="a Workflow without a spec"),
    pytest.param({**CONFIG_MAP, "kind": ["x"]}, 2, "kind: Invalid value", id="a kind that is a list"),
    pytest.param({**CONFIG_MAP, "apiVersion": {"a": 1}}, 2, "apiVersion: Invalid value", id="an apiVersion"),
    pytest.param({"kind": "ConfigMap"}, 2, "apiVersion: Required value", id="no apiVersion"),
    pytest.param({"a": 1}, 2, "holds no Kubernetes object", id="no object"),
    pytest.param({**CONFIG_MAP, "kind": "Pod"}, 2, "unknown kind Pod of apiVersion v1", id="a kind that no run needs"),
]


@EVERY_COMMAND
@pytest.mark.parametrize(("other", "code", "told"), MISTAKES)
def test_what_stands_beside_a_run_is_admitted_as_the_run_is(
    tmp_path: Path, command: str, other: dict[str, Any], code: int, told: str
) -> None:
    run = put(RUN, ("spec", "bandwidthMeasurement"), {"logProfileRef": "nccl-bandwidth"})
    called = called_with(tmp_path, command, run, other)
    assert called.code == code
    assert f"{tmp_path}/run.yaml: document 2: {told}" in (called.out if code == 1 else called.err)


@pytest.mark.parametrize("command", ["render", "dry-run", "simulate"])
def test_json_names_the_document_and_the_field(tmp_path: Path, command: str) -> None:
    called = called_with(tmp_path, command, RUN, {**PROFILE, "spec": "foo"}, output="json")
    assert called.code == 1
    error = called.document["error"]
    assert error["message"] == f"{tmp_path}/run.yaml: document 2: LogProfile own is refused"
    assert {(one["document"], one["field"]) for one in error["errors"]} == {(2, "spec")}


def test_all_that_is_refused_is_named(tmp_path: Path) -> None:
    wrong = put(RUN, ("spec", "image"), "")
    message = called_with(tmp_path, "render", wrong, {**PROFILE, "spec": None}, output="json").document["error"][
        "message"
    ]
    file = f"{tmp_path}/run.yaml"
    assert message == f"{file}: document 1: WorkloadRun small; {file}: document 2: LogProfile own are refused"


def test_nothing_of_a_file_is_made_where_any_of_it_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump_all([CONFIG_MAP, RUN, {**PROFILE, "spec": "foo"}]))
    with simulated(tmp_path) as served:
        called = call("run", str(file), "--kubeconfig", str(served.kubeconfig))
    assert (called.code, called.out.startswith(f"{file}: document 3: spec: Invalid value")) == (1, True)
    assert not any(path.startswith("POST") for path in served.calls)


def test_the_place_in_a_list_is_told(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [RUN, {**CONFIG_MAP, "metadata": None}]}
    called = called_with(tmp_path, "validate", listed)
    assert called.code == 1
    assert called.out.startswith(f"{tmp_path}/run.yaml: items[1]: metadata.name: Required value")


def test_what_was_not_judged_is_told(tmp_path: Path) -> None:
    called = called_with(tmp_path, "validate", RUN, {**SECRET, "type": "Opaque"})
    assert called.code == 0
    assert "run.yaml: document 2: not judged: stringData, type of Secret s\n" in called.err
    results = called_with(tmp_path, "validate", RUN, SECRET, output="json").document["results"]
    assert [one["notJudged"] for one in results] == [[], ["stringData"]]


def test_a_profile_whose_name_the_cluster_will_make_is_not_the_one_that_is_named(tmp_path: Path) -> None:
    profile = {**PROFILE, "metadata": {"generateName": "own-"}}
    for command in ("render", "dry-run"):
        called = called_with(tmp_path, command, RUN, profile)
        assert (called.code, "warning: LogProfile own" in called.out + called.err) == (0, True)


@pytest.mark.parametrize("text", ["root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n", json.dumps({"a": {}})])
def test_a_file_that_is_no_manifest_is_told_plainly(tmp_path: Path, text: str) -> None:
    file = tmp_path / "shadow"
    file.write_text(text)
    called = call("validate", str(file))
    assert called.code == 2
    assert called.err == f"error: {file}: holds no Kubernetes object: it has neither apiVersion nor kind\n"
