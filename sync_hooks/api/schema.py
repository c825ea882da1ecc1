"""Structural schemas, as the API server wants them, from our models. Knows types and sentences, not kinds.

Order: let pydantic write its JSON schema; put every reference in place; make optional what pydantic calls null; take
the sentence under each field from the model's source. Refuses what has no structural form instead of guessing.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from sync_hooks.api.limits import words_of
from sync_hooks.api.model import ApiModel

Schema = dict[str, Any]

_KEPT = (
    "type",
    "format",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
)
_READ = frozenset(
    {"title", "default", "description", "$defs", "additionalProperties", "properties", "items", "pattern"}
)
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}  # said by the format already


def structural_schema(model: type[ApiModel]) -> Schema:
    """Return the schema of a model: no references, no nulls, descriptions and constraints kept.

    Raises ValueError for a construct that a structural schema cannot say.
    """
    written = model.model_json_schema(by_alias=True)
    models = {found.__name__: found for found in _models(model)}
    return _structural(written, written.get("$defs", {}), models, model)


@cache
def field_descriptions(model: type[ApiModel]) -> Mapping[str, str]:
    """Read the docstrings under a model's fields from its source, by field name, parents' fields included."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, ApiModel):
            found |= _docstrings(owner)
    return found


def _docstrings(model: type[ApiModel]) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(model)).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


def _models(model: type[ApiModel]) -> Iterator[type[ApiModel]]:
    """Every model that a model is made of, itself first."""
    yield model
    for field in model.model_fields.values():
        for part in _types(field.annotation):
            yield from _models(part)


def _types(annotation: Any) -> Iterator[type[ApiModel]]:
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _types(part)


def _structural(node: Schema, defs: Mapping[str, Schema], models: Mapping[str, type[ApiModel]], model: Any) -> Schema:
    """Write one node; ``model`` is the model that it describes, None for plain types."""
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        return _structural(defs[name], defs, models, models[name]) | _extensions(node)
    if "anyOf" in node:
        return _optional(node, defs, models)
    unknown = {key for key in node if key not in _KEPT and key not in _READ and not key.startswith("x-kubernetes-")}
    if unknown:
        raise ValueError(f"no structural form for {', '.join(sorted(unknown))} in {node}")
    result: Schema = {key: node[key] for key in _KEPT if key in node}
    result |= _pattern(node) | _extensions(node)
    if result.get("format") == "int32":
        result = {key: value for key, value in result.items() if _INT32.get(key) != value}
    if "properties" in node:
        result["properties"] = _properties(node["properties"], defs, models, model)
    if isinstance(node.get("additionalProperties"), dict):
        result["additionalProperties"] = _structural(node["additionalProperties"], defs, models, None)
    if "items" in node:
        result["items"] = _structural(node["items"], defs, models, None)
    if model is not None:
        result["description"] = " ".join(inspect.cleandoc(model.__doc__).split())
    return result


def _properties(
    nodes: Mapping[str, Schema], defs: Mapping[str, Schema], models: Mapping[str, type[ApiModel]], model: type[ApiModel]
) -> Schema:
    sentences = field_descriptions(model)
    by_alias = {field.alias or name: sentences[name] for name, field in model.model_fields.items()}
    return {
        name: _structural(node, defs, models, None) | {"description": by_alias[name]} for name, node in nodes.items()
    }


def _optional(node: Schema, defs: Mapping[str, Schema], models: Mapping[str, type[ApiModel]]) -> Schema:
    """Write ``T or null`` as T: absent is absent, and null is nothing that the API stores."""
    (chosen,) = [part for part in node["anyOf"] if part.get("type") != "null"]
    return _structural(chosen, defs, models, None) | _extensions(node)


def _pattern(node: Schema) -> Schema:
    """Write a pattern; one that only lists words becomes an enum, whose error message lists them."""
    pattern = node.get("pattern")
    if pattern is None:
        return {}
    words = words_of(pattern)
    return {"enum": list(words)} if words else {"pattern": pattern}


def _extensions(node: Schema) -> Schema:
    extensions = {key: value for key, value in node.items() if key.startswith("x-kubernetes-")}
    if extensions.get("x-kubernetes-list-type") == "map":
        extensions["x-kubernetes-list-map-keys"] = ["type"]
    return extensions
