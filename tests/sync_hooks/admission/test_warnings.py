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


def mpi(binary: str) -> dict[str, Any]:
    return {"framework": {"mpi": {"binary": binary, "mpirunPath": "mpirun"}}}


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
    pytest.param(
        {"metadata": {"name": "run", "annotations": {"cre.nvidia.com/retension": "72h"}}},
        "metadata.annotations[cre.nvidia.com/retension]: "
        "nothing reads this annotation; did you mean cre.nvidia.com/retention?",
        id="a-misspelt-annotation",
    ),
    pytest.param(
        {**mpi("/opt/all_reduce_perf"), "goodputMeasurement": {"logProfileRef": "a"}},
        "spec.goodputMeasurement: spec.framework.mpi.binary tests all_reduce and trains nothing: "
        "no data, no verdict Passed",
        id="goodput-of-a-test-of-the-fabric",
    ),
    pytest.param(
        {"resources": {"limits": {"memory": "64"}}},
        "spec.resources.limits[memory]: 64 is less than 1Mi: a unit such as Gi is missing",
        id="memory-without-a-unit",
    ),
    pytest.param(
        {"resources": {"requests": {"memory": "500m"}}},
        "spec.resources.requests[memory]: 500m is less than 1Mi: a unit such as Gi is missing",
        id="memory-in-thousandths",
    ),
    pytest.param(
        {"initContainers": [{"name": "i", "image": "a", "resources": {"limits": {"memory": 64}}}]},
        "spec.initContainers[0].resources.limits[memory]: 64 is less than 1Mi: a unit such as Gi is missing",
        id="memory-of-an-init-container-without-a-unit",
    ),
    pytest.param(
        {"checkpoint": {"storageSize": "500"}},
        "spec.checkpoint.storageSize: 500 is less than 1Mi: a unit such as Gi is missing",
        id="storage-without-a-unit",
    ),
]


@pytest.mark.parametrize(("changes", "warning"), WARNINGS)
def test_what_is_probably_not_meant_is_said(changes: dict[str, Any], warning: str) -> None:
    admitted = admit(manifest("WorkloadRun", changes))
    assert (admitted.errors, admitted.warnings) == ((), (warning,))
    assert len(warning) <= 120


def test_annotations_of_others_and_those_that_are_read_are_no_matter() -> None:
    annotations = {"cre.nvidia.com/retention": "72h", "example.com/retension": "72h"}
    admitted = admit(manifest("WorkloadRun", {"metadata": {"name": "run", "annotations": annotations}}))
    assert (admitted.errors, admitted.warnings) == ((), ())
