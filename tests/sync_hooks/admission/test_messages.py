"""What is said of an object reads as kubectl prints it: in order, with values cut, with what would be accepted."""

from __future__ import annotations

from typing import Any

import pytest

from sync_hooks.admission.admit import admit
from sync_hooks.api.limits import THRESHOLD_KEYS
from sync_hooks.measurements.thresholds import FIGURES
from tests.sync_hooks.admission.cases import manifest

GOODPUT = {"goodputMeasurement": {"logProfileRef": "a"}}


def messages(kind: str, changes: dict[str, Any]) -> dict[str, str]:
    return {error.field: error.message for error in admit(manifest(kind, changes)).errors}


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        pytest.param({"image": ""}, "spec.image", "Required value: must not be empty", id="required"),
        pytest.param(
            {"numNodes": "4"},
            "spec.numNodes",
            'Invalid value: "4": must be an integer, not string',
            id="type",
        ),
        pytest.param({"numNodes": 0}, "spec.numNodes", "Invalid value: 0: must be at least 1", id="bound"),
        pytest.param(
            {"framework": {"mpi": {"binary": "a", "mpirunPath": "b", "mpiImplementation": "openmpi"}}},
            "spec.framework.mpi.mpiImplementation",
            'Unsupported value: "openmpi": supported values: "OpenMPI", did you mean "OpenMPI"?',
            id="word",
        ),
        pytest.param(
            {"imagePullSecret": []},
            "spec.imagePullSecret",
            'Forbidden: unknown field "imagePullSecret", did you mean "imagePullSecrets"?',
            id="unknown-field",
        ),
        pytest.param(
            {"env": [{"name": "A", "valeu": ""}]},
            "spec.env[0].valeu",
            'Forbidden: unknown field "valeu", did you mean "value"?',
            id="unknown-field-of-kubernetes",
        ),
        pytest.param({"x" * 5000: 1}, "spec." + "x" * 392 + "...", None, id="long-names-are-cut"),
        pytest.param(
            {"image": "A" * 5000}, "spec.image", f'Invalid value: "{"A" * 77}...": must be an image', id="long-values"
        ),
        pytest.param(
            {"gangScheduler": {"schedulerName": "kai", "queue": "q" * 64}},
            "spec.gangScheduler.queue",
            "Too long: may not be more than 63 characters",
            id="too-long",
        ),
        pytest.param(
            {"workloadMetadata": {"labels": {f"l{number}": "" for number in range(33)}}},
            "spec.workloadMetadata.labels",
            "Too many: 33: must have at most 32 items",
            id="too-many",
        ),
        pytest.param(
            {**GOODPUT, "thresholds": {"goodputratio": "value > 0"}},
            "spec.thresholds[goodputratio]",
            'Unsupported value: "goodputratio": supported values: "algBandwidthGBps", "avgStepTimeSec", '
            '"avgTFLOPsPerGPU", "busBandwidthGBps", "goodputRatio", did you mean "goodputRatio"?',
            id="threshold-key",
        ),
    ],
)
def test_the_message_says_what_would_be_accepted(changes: dict[str, Any], field: str, message: str | None) -> None:
    told = messages("WorkloadRun", changes)
    assert field in told
    assert message is None or told[field].startswith(message)


def test_all_errors_are_told_at_once_sorted_by_field() -> None:
    fields = [
        error.field
        for error in admit(
            manifest(
                "WorkloadRun",
                {
                    "numNodes": "many",
                    "image": "",
                    "framework": {"torch": {}},
                    "env": [{"name": "A"}, {"name": "A"}],
                    "config": {},
                    "thresholds": {"unknown": "value > 0"},
                    "metadata": {"name": "A"},
                },
            )
        ).errors
    ]
    assert fields == sorted(fields)
    assert fields == [
        "metadata.name",
        "spec.config",
        "spec.env[1].name",
        "spec.framework.torch",
        "spec.image",
        "spec.numNodes",
        "spec.thresholds[unknown]",
    ]


def test_the_gang_takes_one_of_the_labels() -> None:
    labels = {f"l{number}": "" for number in range(32)}
    assert messages("WorkloadRun", {"workloadMetadata": {"labels": labels}}) == {}
    changes = {"workloadMetadata": {"labels": labels}, "gangScheduler": {"schedulerName": "kai"}}
    assert "spec.workloadMetadata.labels" in messages("WorkloadRun", changes)


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        pytest.param(None, [""], id="nothing"),
        pytest.param([], [""], id="a-list"),
        pytest.param({}, ["apiVersion", "kind"], id="no-kind"),
        pytest.param({"apiVersion": "cre.nvidia.com/v1", "kind": "WorkloadRun"}, ["apiVersion"], id="another-version"),
        pytest.param({"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "Run"}, ["kind"], id="another-kind"),
        pytest.param({"apiVersion": ["x"], "kind": {"a": 1}}, ["apiVersion", "kind"], id="no-text"),
    ],
)
def test_what_is_no_object_of_ours_is_told(obj: Any, fields: list[str]) -> None:
    assert [error.field for error in admit(obj).errors] == fields


@pytest.mark.parametrize("spec", [None, [], "text", 1], ids=repr)
def test_a_spec_that_is_none_is_one_error(spec: Any) -> None:
    obj = {"apiVersion": "cre.nvidia.com/v1alpha1", "kind": "WorkloadRun", "metadata": {"name": "a"}, "spec": spec}
    assert [error.field for error in admit(obj).errors] == ["spec"]


def test_the_schema_and_the_registry_know_the_same_thresholds() -> None:
    assert sorted(FIGURES) == sorted(THRESHOLD_KEYS)
