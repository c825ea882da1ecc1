"""Specs between the API and the models: parsed whole or not at all, and never by a version that knows less of them.

The API server takes only fields of its schema. One that the model lacks is of another version of the hooks, as there
are two of while they are rolled out or back: what it asks for is not known here.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from sync_hooks.api.errors import field_path
from sync_hooks.api.model import ApiModel
from sync_hooks.api.sync import Busy

MOST_PROBLEMS = 10  # in one message
UNKNOWN_FIELDS = "UnknownFields"  # another version of the hooks is waited for

SpecT = TypeVar("SpecT", bound=ApiModel)


def read_spec(model: type[SpecT], raw: Any) -> SpecT | Busy | str:
    """Parse a spec; else leave it to another version of the hooks, or say with field paths what is wrong with it."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        problems = error.errors(include_url=False)
    foreign = [field_path(("spec", *item["loc"])) for item in problems if item["type"] == "extra_forbidden"]
    if foreign:
        return Busy(f"this version of the hooks does not know {foreign[0]}, another one may")
    return "; ".join(f"{field_path(('spec', *item['loc']))}: {item['msg']}" for item in problems[:MOST_PROBLEMS])
