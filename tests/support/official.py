"""Checks rendered objects against the models of Kubeflow Trainer's own API: no unknown field, no wrong type."""

from __future__ import annotations

from typing import Any

from kubeflow_trainer_api import models


def check_official(manifest: dict[str, Any]) -> None:
    """Parse a TrainJob or a TrainingRuntime; raises pydantic's ValidationError."""
    kinds = {"TrainJob": models.TrainerV1alpha1TrainJob, "TrainingRuntime": models.TrainerV1alpha1TrainingRuntime}
    kinds[manifest["kind"]].model_validate(_with_quantities(manifest), extra="forbid")


def _with_quantities(value: Any, field: str = "") -> Any:
    """Wrap quantities as the generated models want them: they are no plain text there."""
    if isinstance(value, dict) and field in ("limits", "requests"):
        return {key: models.IoK8sApimachineryPkgApiResourceQuantity(amount) for key, amount in value.items()}
    if isinstance(value, dict):
        return {key: _with_quantities(part, key) for key, part in value.items()}
    return [_with_quantities(part) for part in value] if isinstance(value, list) else value
