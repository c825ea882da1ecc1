"""The CRDs are what the API server wants, say what the models say, and are the ones in the repository."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sync_hooks.api.crd import MOST_BYTES, crd, object_schema
from sync_hooks.api.kinds import KINDS, Kind

ROOT = Path(__file__).parents[2]
EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)

STRUCTURAL = {
    "additionalProperties",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


@EACH_KIND
def test_the_schema_is_structural(kind: Kind) -> None:
    for path, node in nodes(object_schema(kind)):
        assert node.keys() <= STRUCTURAL, path
        assert "type" in node or node.get("x-kubernetes-preserve-unknown-fields"), path


@EACH_KIND
def test_every_field_of_spec_and_status_has_a_sentence(kind: Kind) -> None:
    schema = object_schema(kind)["properties"]
    for part in ("spec", "status"):
        for path, node in nodes(schema.get(part, {}), part):
            assert "[]" in path or node.get("description") or part not in schema, path


@EACH_KIND
def test_the_status_is_a_subresource_where_there_is_one(kind: Kind) -> None:
    (version,) = crd(kind)["spec"]["versions"]
    assert ("subresources" in version) is (kind.kind != "LogProfile")


@EACH_KIND
def test_specs_of_what_runs_are_immutable_and_others_are_not(kind: Kind) -> None:
    rules = object_schema(kind)["properties"]["spec"].get("x-kubernetes-validations", [])
    immutable = {"rule": "self == oldSelf", "message": "spec is immutable after creation"} in rules
    assert immutable is (kind.kind in ("WorkloadRun", "Workflow", "Job"))


@EACH_KIND
def test_removing_the_chart_keeps_the_crd_and_every_object(kind: Kind) -> None:
    assert crd(kind)["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_kinds_are_found_under_their_names() -> None:
    names = {kind.kind: (kind.short, kind.plural, kind.cluster_scoped) for kind in KINDS}
    assert names == {
        "WorkloadRun": ("wr", "workloadruns", False),
        "Workflow": ("wf", "workflows", False),
        "Job": ("crejob", "jobs", False),
        "BandwidthMeasurement": ("bwm", "bandwidthmeasurements", False),
        "GoodputMeasurement": ("gpm", "goodputmeasurements", False),
        "LogProfile": ("lp", "logprofiles", True),
    }
    assert {tuple(crd(kind)["spec"]["names"]["categories"]) for kind in KINDS} == {("cre",)}


def test_exactly_one_framework_is_asked_for() -> None:
    (run,) = [kind for kind in KINDS if kind.kind == "WorkloadRun"]
    framework = object_schema(run)["properties"]["spec"]["properties"]["framework"]
    assert (framework["minProperties"], framework["maxProperties"]) == (1, 1)


@EACH_KIND
def test_every_column_shows_a_field_that_exists(kind: Kind) -> None:
    known = {path for path, _ in nodes(object_schema(kind))}
    for column in kind.columns:
        if "[?" not in column.path and not column.path.startswith(".metadata"):
            assert column.path in known


def test_files_are_small_enough_for_kubectl_apply_and_argo_cd() -> None:
    files = sorted((ROOT / "charts/workloadrun/templates/crds").glob("*.yaml"))
    assert len(files) == len(KINDS)
    assert max(file.stat().st_size for file in files) < MOST_BYTES


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools/generate.py"), *arguments], capture_output=True, text=True, check=False
    )


def test_what_is_generated_is_what_is_in_the_repository() -> None:
    done = generate("--verify")
    assert (done.returncode, done.stderr) == (0, "")


def test_stale_and_left_over_files_are_named(tmp_path: Path) -> None:
    assert generate(str(tmp_path)).returncode == 0
    folder = tmp_path / "charts/workloadrun/templates/crds"
    run = folder / "cre.nvidia.com_workloadruns.yaml"
    run.write_text(run.read_text("utf-8").replace("minimum: 1", "minimum: 2", 1), "utf-8")
    (folder / "cre.nvidia.com_certifications.yaml").write_text("", "utf-8")
    done = generate("--verify", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "stale: charts/workloadrun/templates/crds/cre.nvidia.com_workloadruns.yaml",
        "stale: charts/workloadrun/templates/crds/cre.nvidia.com_certifications.yaml",
    ]
