"""The table of official types says the same as the official models, of which it is made."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from sync_hooks.admission.official.rules import RULES, WHOLE_RULES
from sync_hooks.admission.official.shape import official_errors, official_types
from sync_hooks.admission.value import Value

models = pytest.importorskip("kubeflow_trainer_api.models")

SAMPLES = [
    pytest.param("EnvVar", "IoK8sApiCoreV1EnvVar", {"name": "A", "value": "b"}, id="a-variable"),
    pytest.param("EnvVar", "IoK8sApiCoreV1EnvVar", {"value": "b"}, id="a-variable-without-a-name"),
    pytest.param("EnvVar", "IoK8sApiCoreV1EnvVar", {"name": 1, "value": True}, id="a-variable-of-other-types"),
    pytest.param("EnvVar", "IoK8sApiCoreV1EnvVar", {"name": "A", "vlaue": "b"}, id="a-variable-misspelt"),
    pytest.param("Volume", "IoK8sApiCoreV1Volume", {"name": "v", "nfs": {"server": "s"}}, id="a-volume-half-given"),
    pytest.param("Volume", "IoK8sApiCoreV1Volume", {"name": "v", "hostPath": {"path": "/"}}, id="a-volume"),
    pytest.param(
        "VolumeMount", "IoK8sApiCoreV1VolumeMount", {"name": "v", "mountPath": "/v", "readOnly": 1}, id="mount"
    ),
    pytest.param(
        "Container",
        "IoK8sApiCoreV1Container",
        {"name": "c", "image": "i", "env": [{"name": "A"}, {}], "securityContext": {"capabilities": {"add": "X"}}},
        id="a-container",
    ),
    pytest.param(
        "trainer.TrainJobSpec",
        "TrainerV1alpha1TrainJobSpec",
        {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": "2", "env": [{"name": "A"}]}, "foo": 1},
        id="a-train-job",
    ),
    pytest.param(
        "trainer.TrainingRuntimeSpec",
        "TrainerV1alpha1TrainingRuntimeSpec",
        {"mlPolicy": {"torch": {"numProcPerNode": 8}}, "template": {"spec": {"replicatedJobs": [{"name": "node"}]}}},
        id="a-runtime",
    ),
]


def places(model: type[BaseModel], value: Any) -> set[tuple[str | int, ...]]:
    try:
        model.model_validate(value, extra="forbid")
    except ValidationError as error:
        return {problem["loc"] for problem in error.errors()}
    return set()


@pytest.mark.parametrize(("type_", "model", "value"), SAMPLES)
def test_the_table_finds_fault_where_the_official_model_does(type_: str, model: str, value: Any) -> None:
    found = {error.field for error in official_errors(Value(value), type_)}
    expected = {str(Value(None, place)) for place in places(getattr(models, model), value)}
    assert found == expected


def test_every_type_that_a_field_has_is_in_the_table() -> None:
    types = official_types()
    plain = {"any", "boolean", "integer", "intOrString", "number", "quantity", "string"}
    used = {field.type.split()[-1] for fields in types.values() for field in fields.values()}
    assert used - plain <= types.keys()


@pytest.mark.parametrize(
    ("value", "faulty"),
    [
        ("64Gi", False),
        (8, False),
        (0.5, False),
        ("500m", False),
        ("2e3", False),
        ("64 Gi", True),
        (" 8", True),
        ("", True),
        ("8GB", True),
        ([8], True),
        (True, True),
        (None, True),
    ],
    ids=repr,
)
def test_quantities_are_read_as_kubernetes_reads_them(value: Any, faulty: bool) -> None:
    assert bool(list(official_errors(Value({"limits": {"cpu": value}}), "ResourceRequirements"))) is faulty


def test_a_patch_may_lack_delete_and_direct() -> None:
    patch = {"trainer": {"env": None, "$patch": "replace"}}
    assert list(official_errors(Value(patch), "trainer.TrainJobSpec", patch=True)) == []
    assert [error.field for error in official_errors(Value(patch), "trainer.TrainJobSpec")] != []


def test_in_a_patch_entries_without_names_are_whole_for_they_replace_what_is_there() -> None:
    pod = {"tolerations": [{"effect": "NoSchedule"}], "containers": [{"name": "node", "env": [{"name": "A"}]}]}
    found = [error.field for error in official_errors(Value(pod), "PodSpec", patch=True)]
    assert found == ["tolerations[0].operator"]


def test_every_row_about_values_is_of_a_field_that_there_is_and_says_why() -> None:
    rows = yaml.safe_load(resources.files("sync_hooks.admission.official").joinpath("values.yaml").read_text("utf-8"))
    types = official_types()
    for row in rows:
        assert row["why"]
        if "one" in row:
            assert set(row["one"]) <= types[row["of"]].keys()
            continue
        type_, _, name = row["of"].rpartition(".")
        kind = types[type_][name].type
        assert "range" not in row or kind in ("integer", "intOrString", "list integer")
        assert not {"most", "unique"} & row.keys() or kind.startswith("list ")
        assert "words" not in row or kind in ("string", "list string")
        assert "grammar" not in row or kind in ("string", "list string", "map string", "intOrString")
        assert "keys" not in row or kind.startswith("map ")


def test_every_rule_about_a_type_is_of_one_that_there_is() -> None:
    assert official_types().keys() >= RULES.keys() | WHOLE_RULES.keys()


def test_an_empty_word_means_the_default() -> None:
    assert not list(official_errors(Value({"name": "c", "imagePullPolicy": ""}), "Container"))


def test_a_number_where_text_belongs_is_one_error() -> None:
    found = [error.type for error in official_errors(Value({"name": 5, "imagePullPolicy": 5}), "Container")]
    assert found == ["FieldValueTypeInvalid", "FieldValueTypeInvalid"]
