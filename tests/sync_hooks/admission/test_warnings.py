"""What an author probably did not mean is admitted, and said at its place in one short sentence."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.admission.admit import admit
from tests.sync_hooks.admission.cases import manifest

TRAIN_JOB = "/spec/workload/trainJob"


def overriding(**override: Any) -> dict[str, Any]:
    return {"overrides": [override]}


def train_job(**fields: Any) -> dict[str, Any]:
    return overriding(jobTemplate={"spec": {"workload": {"trainJob": fields}}})


WARNINGS = [
    pytest.param(
        train_job(suspend=True),
        "spec.overrides[0].jobTemplate: a suspended TrainJob waits until somebody, such as Kueue, resumes it",
        id="a-suspended-train-job",
    ),
    pytest.param(
        overriding(jobTemplatePatch=[{"op": "add", "path": f"{TRAIN_JOB}/suspend", "value": True}]),
        "spec.overrides[0].jobTemplatePatch[0].value: "
        "a suspended TrainJob waits until somebody, such as Kueue, resumes it",
        id="a-train-job-suspended-by-a-patch",
    ),
    pytest.param(
        train_job(managedBy="kueue.x-k8s.io/multikueue"),
        "spec.overrides[0].jobTemplate: another cluster runs the TrainJob, on nodes that are not seen here",
        id="a-train-job-of-another-cluster",
    ),
]


@pytest.mark.parametrize(("changes", "warning"), WARNINGS)
def test_what_is_probably_not_meant_is_said(changes: dict[str, Any], warning: str) -> None:
    admitted = admit(manifest("WorkloadRun", changes))
    assert (admitted.errors, admitted.warnings) == ((), (warning,))
    assert len(warning) <= 120
