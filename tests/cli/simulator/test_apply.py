"""Updates in place, as Metacontroller's dynamic apply makes them: three ways are merged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.simulator.apply import LAST_APPLIED, ApplyError, updated

OWNER = {"apiVersion": "v1", "kind": "Job", "name": "job", "uid": "uid-job", "controller": True}
OTHER = {"apiVersion": "v1", "kind": "Workflow", "name": "run", "uid": "uid-run"}


def desired(**more: Any) -> dict[str, Any]:
    metadata = {"name": "m", "namespace": "default", "labels": {"a": "1"}, "ownerReferences": [OTHER]}
    return {"apiVersion": "v1", "kind": "M", "metadata": {**metadata, **more.pop("metadata", {})}, **more}


def stored(applied: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make an object as it stands once it was created from ``applied`` and others have written to it."""
    system = {"uid": "u", "resourceVersion": "7", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    annotations = {LAST_APPLIED: json.dumps(applied, sort_keys=True, separators=(",", ":"))}
    metadata = {**applied["metadata"], **system, "annotations": annotations, "ownerReferences": [OTHER, OWNER]}
    return {**applied, "metadata": metadata, **more}


SPEC = {"jobRef": {"name": "job"}, "ranks": 16}


def test_what_was_applied_before_changes_nothing_when_it_is_applied_again() -> None:
    applied = desired(spec=SPEC)
    observed = stored(applied, status={"rowsSeen": 3})
    assert updated(observed, applied) == observed


def test_an_annotation_is_added_beside_those_of_others_and_noted() -> None:
    observed = stored(desired(spec=SPEC), status={"rowsSeen": 3})
    observed["metadata"]["annotations"]["theirs"] = "kept"
    wanted = desired(spec=SPEC, metadata={"annotations": {"told": "uid"}})
    merged = updated(observed, wanted)
    annotations = merged["metadata"]["annotations"]
    assert (annotations["theirs"], annotations["told"]) == ("kept", "uid")
    assert json.loads(annotations[LAST_APPLIED]) == wanted
    before = {"annotations": observed["metadata"]["annotations"]}
    assert {**merged, "metadata": merged["metadata"] | before} == observed
    assert updated(merged, wanted) == merged


def test_a_stub_takes_away_what_was_applied_before() -> None:
    observed = stored(desired(spec=SPEC), status={"rowsSeen": 3})
    merged = updated(observed, {"apiVersion": "v1", "kind": "M", "metadata": {"name": "m"}})
    assert "spec" not in merged
    assert {"labels", "ownerReferences"}.isdisjoint(merged["metadata"])
    assert (merged["status"], merged["metadata"]["resourceVersion"]) == ({"rowsSeen": 3}, "7")


def test_owners_of_others_stay_beside_those_that_are_applied() -> None:
    applied = desired(spec=SPEC)
    assert updated(stored(applied), applied)["metadata"]["ownerReferences"] == [OTHER, OWNER]


@pytest.mark.parametrize(
    ("observed", "applied", "wanted", "merged"),
    [
        ([1, 2], [1, 2], [3], [3]),
        ([{"name": "a", "x": 1}], [{"name": "a"}], [{"name": "a", "y": 2}], [{"name": "a", "x": 1, "y": 2}]),
        ([{"name": "theirs"}], [], [{"name": "ours"}], [{"name": "theirs"}, {"name": "ours"}]),
        ([{"name": "a"}, {"name": "b"}], [{"name": "a"}], [{"name": "b"}], [{"name": "b"}]),
        ([{"x": 1}], [{"x": 1}], [{"x": 2}], [{"x": 2}]),
        (1, 1, 2, 2),
    ],
    ids=["scalars", "by name", "theirs stays", "ours goes", "no key", "scalar"],
)
def test_fields_are_merged_three_ways(observed: Any, applied: Any, wanted: Any, merged: Any) -> None:
    before = stored(desired(spec={"field": observed}))
    before["metadata"]["annotations"][LAST_APPLIED] = json.dumps(desired(spec={"field": applied}))
    assert updated(before, desired(spec={"field": wanted}))["spec"]["field"] == merged


def test_a_field_of_another_type_is_refused_with_its_path() -> None:
    with pytest.raises(ApplyError, match=r"desired\[spec\]\[field\]"):
        updated(stored(desired(spec={"field": {"a": 1}})), desired(spec={"field": [1]}))
