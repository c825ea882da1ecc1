"""Whose an object of a wanted name is: ours, going by itself, or somebody else's."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.execution.ownership import Standing, standing, taken
from tests.support.hooks import NAMESPACE, STAMP, live, manifest, owned

PARENT = manifest("Job", "run-g0-i1")
CHILD = manifest("TrainJob", "run-g0-i1-w0", apiVersion="trainer.kubeflow.org/v1alpha1")


def of(**owner: Any) -> dict[str, Any]:
    """The child, owned by something like its parent."""
    known = {"apiVersion": PARENT["apiVersion"], "kind": "Job", "name": "run-g0-i1", "uid": "x", "controller": True}
    return {**CHILD, "metadata": {**CHILD["metadata"], "ownerReferences": [{**known, **owner}]}}


GOING = {**CHILD, "metadata": {**CHILD["metadata"], "deletionTimestamp": STAMP}}


@pytest.mark.parametrize(
    ("child", "expected"),
    [
        pytest.param(owned(CHILD, PARENT), "ours", id="ours"),
        pytest.param(CHILD, "foreign", id="nobody's"),
        pytest.param(GOING, "going", id="nobody's, and being deleted"),
        pytest.param(owned(GOING, PARENT), "going", id="ours, and being deleted"),
        pytest.param(of(), "going", id="left by an earlier object of the parent's name"),
        pytest.param(of(controller=False), "foreign", id="one that does not control it has the parent's name"),
        pytest.param(of(name="other"), "foreign", id="another name"),
        pytest.param(of(kind="Workflow"), "foreign", id="another kind"),
        pytest.param(of(apiVersion="batch/v1"), "foreign", id="another group's kind"),
    ],
)
def test_an_object_is_ours_or_going_or_somebody_elses(child: dict[str, Any], expected: Standing) -> None:
    assert standing(live(child), live(PARENT)) == expected


def labelled(child: dict[str, Any]) -> dict[str, Any]:
    labels = {"cre.nvidia.com/workload-run": "nccl-2027-08-20"}
    return {**child, "metadata": {**child["metadata"], "labels": labels}}


@pytest.mark.parametrize(
    ("child", "owner"),
    [
        pytest.param(labelled(of(name="other")), "WorkloadRun NS/nccl-2027-08-20", id="another run's"),
        pytest.param(
            labelled(of(kind="Workflow", name="other")), "WorkloadRun NS/nccl-2027-08-20", id="its Workflow's"
        ),
        pytest.param(of(kind="WorkloadRun", name="other"), "WorkloadRun NS/other", id="a run's that owns it itself"),
        pytest.param(of(kind="Workflow", name="other"), "Workflow NS/other", id="a Workflow's"),
        pytest.param(
            labelled(of(apiVersion="batch/v1", name="other")),
            "Job NS/other",
            id="another group's, whose labels say little",
        ),
    ],
)
def test_of_what_another_run_has_its_name_is_told_and_nobody_is_advised_to_delete_it(
    child: dict[str, Any], owner: str
) -> None:
    said = taken(live(child))
    assert f"TrainJob run-g0-i1-w0 exists already and belongs to {owner.replace('NS', NAMESPACE)}, " in said
    assert "choose another name for this run" in said
    assert "delete" not in said


def test_only_what_nobody_owns_may_be_deleted() -> None:
    for nobodys in (CHILD, labelled(CHILD), of(controller=False)):
        said = taken(live(nobodys))
        assert "belongs to no run: delete it if nobody needs it, or choose another name for this run" in said
