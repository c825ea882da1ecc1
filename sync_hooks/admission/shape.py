"""Types, bounds and unknown fields, as our models state them, told in Kubernetes' words. Knows no rule beyond those."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sync_hooks.admission.causes import (
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    unknown,
    wrong_type,
)
from sync_hooks.admission.value import DEEPEST, MAPS, Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import MEANINGS, words_of
from sync_hooks.api.model import ApiModel

OPEN = frozenset({"jobTemplate", "jobTemplatePatch", "dependencies", "trainJob"})
"""Fields that hold objects or patches of other APIs, where null means something or others judge it."""

WANTED = {
    "bool_type": "a boolean",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "an integer",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a string",
}
"""What each of pydantic's type errors asks for."""


def shape_errors(model: type[ApiModel], value: Value, *, patch: bool = False) -> Iterator[FieldError]:
    """Check a value against a model. Yields every error, in no particular order; nulls are left to `null_errors`.

    In a ``patch`` nothing is required, and directives of a strategic merge (``$patch``) may stand.
    """
    try:
        model.model_validate(value.json, by_alias=True, by_name=False)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            deleted = patch and problem["type"] == "extra_forbidden"  # a field that there is not, told even so
            if (problem["input"] is not None or deleted) and not (patch and _is_patching(problem)):
                yield _told(problem, value, model)


def null_errors(value: Value, depth: int = DEEPEST) -> Iterator[FieldError]:
    """Find nulls: the API server refuses them, while a model would take them for absent."""
    for child in value.children():
        if child.json is None:
            yield wrong_type(child, "left out where nothing is meant")
        elif depth and child.path[-1] not in OPEN:
            yield from null_errors(child, depth - 1)


def _is_patching(problem: ErrorDetails) -> bool:
    directive = bool(problem["loc"]) and str(problem["loc"][-1]).startswith("$")
    return problem["type"] == "missing" or (problem["type"] == "extra_forbidden" and directive)


def _told(problem: ErrorDetails, root: Value, model: type[ApiModel]) -> FieldError:
    """Tell one of pydantic's errors at its place."""
    names = [part for part in problem["loc"] if part != "[key]"]
    where = root
    for part in names:
        where = _below(where, part)
    if problem["type"] == "missing":
        return required(where, "must be given")
    if problem["type"] == "extra_forbidden":
        parent = root
        for part in names[:-1]:
            parent = _below(parent, part)
        return unknown(parent, str(names[-1]), _known_fields(model, names[:-1]))
    where = Value(problem["input"], where.path)
    if problem["type"] in WANTED:
        return wrong_type(where, WANTED[problem["type"]])
    telling = _TELLING.get(problem["type"])
    return telling(where, problem.get("ctx", {})) if telling else invalid(where, problem["msg"])


def _below(where: Value, part: str | int) -> Value:
    if isinstance(part, int):
        items = where.json if isinstance(where.json, list) else []
        return Value(items[part] if part < len(items) else None, (*where.path, part))
    return where.member(part)


def _known_fields(model: type[ApiModel], names: list[str | int]) -> list[str]:
    """Name the fields of the model that describes a place below another model."""
    found: Any = model
    for name in names:
        if isinstance(name, str) and name not in MAPS:
            field = next((field for key, field in found.model_fields.items() if (field.alias or key) == name), None)
            found = next(_models(field.annotation), found) if field else found
    return [field.alias or key for key, field in found.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[ApiModel]]:
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models(part)


def _too_short(where: Value, context: dict[str, Any]) -> FieldError:
    if not where.json:
        return required(where, "must not be empty")
    return invalid(where, f"must have at least {context['min_length']} characters")


def _pattern(where: Value, context: dict[str, Any]) -> FieldError:
    pattern = context["pattern"]
    words = words_of(pattern)
    if words:
        return not_supported(where, [word for word in words if word])
    return invalid(where, MEANINGS.get(pattern) or f"must match {pattern}")


_TELLING: dict[str, Callable[[Value, dict[str, Any]], FieldError]] = {
    "greater_than_equal": lambda where, context: invalid(where, f"must be at least {context['ge']}"),
    "less_than_equal": lambda where, context: invalid(where, f"must be at most {context['le']}"),
    "string_pattern_mismatch": _pattern,
    "string_too_long": lambda where, context: too_long(where, context["max_length"]),
    "string_too_short": _too_short,
    "too_long": lambda where, context: too_many(where, len(where.json), context["max_length"]),
    "too_short": _too_short,
}
