"""Kubernetes' and Trainer's own types, written down in short from the official models. Knows nothing of ours."""

from __future__ import annotations

import datetime
import typing
from collections.abc import Iterator

import kubeflow_trainer_api.models as official
import yaml
from pydantic import BaseModel

ROOTS = (
    "IoK8sApiCoreV1Container",
    "IoK8sApiCoreV1EnvVar",
    "IoK8sApiCoreV1ResourceRequirements",
    "IoK8sApiCoreV1Volume",
    "IoK8sApiCoreV1VolumeMount",
    "TrainerV1alpha1TrainJobSpec",
    "TrainerV1alpha1TrainingRuntimeSpec",
)
"""What our kinds embed; everything that these are made of follows."""

PREFIXES = {
    "IoK8sApiBatchV1": "batch.",
    "IoK8sApiCoreV1": "",
    "IoK8sApimachineryPkgApisMetaV1": "meta.",
    "JobsetV1alpha2": "jobset.",
    "SchedulingV1beta1": "volcano.",
    "TrainerV1alpha1": "trainer.",
}
SPECIAL = {
    "IoK8sApimachineryPkgApiResourceQuantity": "quantity",
    "IoK8sApimachineryPkgUtilIntstrIntOrString": "intOrString",
}
PLAIN: dict[type, str] = {str: "string", int: "integer", bool: "boolean", float: "number", datetime.datetime: "string"}


def types_yaml() -> str:
    """Return the table of types, one line a type, sorted: fields with their types, ``!`` where one is required."""
    found: dict[str, type[BaseModel]] = {}
    for root in ROOTS:
        _collect(getattr(official, root), found)
    table = {_short(name): _fields(model) for name, model in sorted(found.items())}
    if len(table) != len(found):
        raise ValueError("two official types have the same short name")
    return "".join(_line(name, fields) for name, fields in sorted(table.items()))


def _line(name: str, fields: dict[str, str]) -> str:
    return yaml.safe_dump({name: fields}, default_flow_style=None, sort_keys=True, width=10**6)


def _collect(model: type[BaseModel], found: dict[str, type[BaseModel]]) -> None:
    if model.__name__ in found or model.__name__ in SPECIAL:
        return
    found[model.__name__] = model
    for field in model.model_fields.values():
        for part in _models(field.annotation):
            _collect(part, found)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models(part)


def _fields(model: type[BaseModel]) -> dict[str, str]:
    return {
        (field.alias or name) + ("!" if field.is_required() else ""): _type(field.annotation)
        for name, field in model.model_fields.items()
    }


def _type(annotation: object) -> str:
    """Write a type: ``string``, ``list Volume``, ``map quantity``, ``any``."""
    origin, parts = (
        typing.get_origin(annotation),
        [part for part in typing.get_args(annotation) if part is not type(None)],
    )
    if origin is list:
        return f"list {_type(parts[0])}"
    if origin is dict:
        return "any" if parts[1] is typing.Any else f"map {_type(parts[1])}"
    if origin is not None:  # Optional and Annotated
        return _type(parts[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return SPECIAL.get(annotation.__name__) or _short(annotation.__name__)
    return PLAIN[typing.cast("type", annotation)]


def _short(name: str) -> str:
    for prefix, group in PREFIXES.items():
        if name.startswith(prefix):
            return group + name.removeprefix(prefix)
    raise ValueError(f"{name} belongs to an API that is not listed")
