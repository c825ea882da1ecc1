"""Statuses between the API and the models: read without trusting, written without losing what newer versions wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from sync_hooks.api.model import ApiModel

StatusT = TypeVar("StatusT", bound=ApiModel)


def read_status(model: type[StatusT], raw: Any) -> StatusT:
    """Parse a status; unknown keys are skipped and keys that do not parse are left out, so that it never fails."""
    known: dict[str, Any] = dict(raw) if isinstance(raw, Mapping) else {}
    while True:
        try:
            return model.model_validate(known, extra="ignore")
        except ValidationError as error:
            for key in {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}:
                known.pop(key, None)


def write_status(old: Any, new: ApiModel) -> dict[str, Any]:
    """Write a status; keys of ``old`` that the model does not know are another version's and are copied through."""
    fields = {field.alias or name for name, field in type(new).model_fields.items()}
    foreign = {key: value for key, value in old.items() if key not in fields} if isinstance(old, Mapping) else {}
    return {**foreign, **new.to_dict()}
