"""Both faces answer each operation: new objects are admitted, updates held against what is stored, the rest let be."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.admission.admit import MOST_ERRORS, admit
from sync_hooks.admission.review import Face, Request, review
from tests.sync_hooks.admission.cases import manifest

FACES = pytest.mark.parametrize("face", list(Face), ids=lambda face: face.value)


def request(operation: str, obj: Any, old: Any = None, **changes: Any) -> Request:
    fields: dict[str, Any] = {"group": "cre.nvidia.com", "version": "v1alpha1", "kind": "WorkloadRun", "name": "run"}
    return Request(operation=operation, object=obj, old_object=old, **{**fields, **changes})


@FACES
def test_a_new_object_that_is_wrong_is_refused_by_both_with_all_causes(face: Face) -> None:
    answer = review(request("CREATE", manifest("WorkloadRun", {"image": "", "numNodes": 0})), face)
    assert answer.refusal is not None
    assert answer.refusal.code == 422
    assert answer.refusal.reason == "Invalid"
    assert [cause.field for cause in answer.refusal.causes] == ["spec.image", "spec.numNodes"]
    assert answer.refusal.message == (
        'WorkloadRun.cre.nvidia.com "run" is invalid: [spec.image: Required value: must not be empty, '
        "spec.numNodes: Invalid value: 0: must be at least 1]"
    )


@FACES
def test_a_single_cause_is_told_without_brackets(face: Face) -> None:
    answer = review(request("CREATE", manifest("WorkloadRun", {"image": ""})), face)
    assert answer.refusal is not None
    assert answer.refusal.message.endswith("is invalid: spec.image: Required value: must not be empty")


def test_mutate_adds_defaults_and_validate_does_not() -> None:
    call = request("CREATE", manifest("WorkloadRun", {}))
    assert review(call, Face.MUTATE).patch == (
        {"op": "add", "path": "/spec/orchestration", "value": {"timeoutPerJob": "24h"}},
    )
    assert review(call, Face.VALIDATE).patch == ()


@FACES
def test_a_generated_name_is_told_by_its_beginning(face: Face) -> None:
    obj = manifest("WorkloadRun", {"metadata": {"generateName": "nightly-"}, "image": ""})
    answer = review(request("CREATE", obj, name=""), face)
    assert answer.refusal is not None
    assert '"nightly-" is invalid' in answer.refusal.message


@FACES
def test_an_update_of_the_spec_is_refused_by_validate_alone(face: Face) -> None:
    old = admit(manifest("WorkloadRun", {"numNodes": 1})).object
    answer = review(request("UPDATE", admit(manifest("WorkloadRun", {"numNodes": 2})).object, old), face)
    assert answer.allowed is (face is Face.MUTATE)
    if answer.refusal:
        assert [(cause.field, cause.type) for cause in answer.refusal.causes] == [("spec", "FieldValueInvalid")]
        assert "spec is immutable after creation (numNodes would change)" in answer.refusal.message


@FACES
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"metadata": {"name": "run", "finalizers": []}}, id="finalizers"),
        pytest.param({"metadata": {"name": "run", "labels": {"a": "b"}}}, id="labels"),
        pytest.param({"status": {"verdict": "Passed"}}, id="status"),
    ],
)
def test_metadata_and_status_are_free_even_where_the_stored_spec_breaks_a_rule(face: Face, change: Any) -> None:
    old = manifest("WorkloadRun", {"image": "Not An Image"})
    assert review(request("UPDATE", {**old, **change}, old), face).allowed


def test_a_manifest_without_defaults_is_no_change_of_the_object_it_made() -> None:
    written = manifest("WorkloadRun", {"framework": {"mpi": {"binary": "a", "mpirunPath": "b"}}})
    stored = admit(written).object
    mutated = review(request("UPDATE", written, stored), Face.MUTATE)
    assert [operation["path"] for operation in mutated.patch] == [
        "/spec/framework/mpi/mpiImplementation",
        "/spec/orchestration",
    ]


def test_an_upgrade_that_adds_a_default_leaves_stored_objects_as_they_are() -> None:
    old = manifest("WorkloadRun", {})  # stored before timeoutPerJob had a default
    call = request("UPDATE", {**old, "metadata": {"name": "run", "finalizers": []}}, old)
    assert review(call, Face.MUTATE).patch == ()
    assert review(call, Face.VALIDATE).allowed


@FACES
@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", "", "update"])
def test_other_operations_are_never_in_the_way(face: Face, operation: str) -> None:
    assert review(request(operation, None, manifest("WorkloadRun", {"image": ""})), face).allowed


@FACES
def test_subresources_and_other_groups_are_none_of_our_business(face: Face) -> None:
    bad = manifest("WorkloadRun", {"image": ""})
    assert review(request("UPDATE", bad, bad, sub_resource="status"), face).allowed
    assert review(request("CREATE", {"kind": "Pod"}, group="", version="v1", kind="Pod"), face).allowed


@FACES
def test_a_kind_of_our_group_without_rules_is_refused(face: Face) -> None:
    answer = review(request("CREATE", {}, kind="Certification"), face)
    assert answer.refusal is not None
    assert answer.refusal.code == 400


@pytest.mark.parametrize(("regex", "allowed"), [("^start", True), ("(", False)])
def test_an_update_of_a_mutable_spec_is_judged_anew(regex: str, allowed: bool) -> None:
    old = manifest("LogProfile", {})
    new = manifest("LogProfile", {"patterns": {"applicationStart": {"regex": regex}}})
    assert review(request("UPDATE", new, old, kind="LogProfile"), Face.VALIDATE).allowed is allowed


def test_of_very_many_mistakes_the_first_ones_are_told() -> None:
    env = [{"name": "A"} for _ in range(2 * MOST_ERRORS)]
    answer = review(request("CREATE", manifest("WorkloadRun", {"env": env})), Face.VALIDATE)
    assert answer.refusal is not None
    assert len(answer.refusal.causes) == MOST_ERRORS
