"""Whose an object of a wanted name is: ours, going by itself, or somebody else's."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.execution.ownership import Standing, standing
from tests.support.hooks import STAMP, live, manifest, owned

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
