"""explain says of a field what its CRD says, finds it under any usual name, and helps where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sync_hooks.api.crd import object_schema
from sync_hooks.api.kinds import KINDS
from tests.cli.calling import call


def fields(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, field in node.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field.get("items") or field.get("additionalProperties") or field, f"{path}.{name}")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_field_of_every_kind_is_explained_by_the_sentence_of_its_crd(kind: Any) -> None:
    for path, node in fields(object_schema(kind), kind.kind.lower()):
        called = call("explain", path, "-o", "json")
        assert called.code == 0, path
        assert called.document["description"] == node.get("description", ""), path


@pytest.mark.parametrize(
    "name",
    [
        "spec.gangScheduler.queue",
        "workloadrun.spec.gangScheduler.queue",
        "wr.spec.gangScheduler.queue",
        "workloadruns.spec.gangScheduler.queue",
        "gangScheduler.queue",
    ],
)
def test_a_field_is_found_under_every_usual_name(name: str) -> None:
    assert call("explain", name).out.startswith("workloadrun.spec.gangScheduler.queue <string>")


def test_paths_of_error_messages_are_understood() -> None:
    assert call("explain", "spec.overrides[0].when").code == 0
    assert call("explain", "spec.thresholds[busBandwidthGBps]").code == 2  # a key, which has no sentence of its own


def test_bounds_and_required_fields_are_said() -> None:
    out = call("explain", "spec.numNodes").out
    assert "required" in out.splitlines()[0]
    assert "At least 1, at most 10000." in out


def test_a_tree_of_all_fields_can_be_asked_for() -> None:
    out = call("explain", "spec.framework", "--recursive").out
    assert "\n    binary <string>, required\n" in out


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("spec.orchestraton", "did you mean orchestration?"),
        ("spec.queue", "there is spec.gangScheduler.queue"),
        ("spec.env.name", "Kubernetes explains it"),
        ("spec.image.tag", "it is a value"),
        ("pod.spec", "workloadrun has no field 'pod'"),
    ],
)
def test_what_is_no_field_is_answered_with_what_is_near(field: str, said: str) -> None:
    called = call("explain", field)
    assert called.code == 2
    assert said in called.err
