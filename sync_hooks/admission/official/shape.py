"""Shape of values of Kubernetes' and Trainer's own types: fields that exist, that must, and of which type.

The table is read instead of the models themselves: importing those takes a second, and they take snake_case names and
refuse every quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sync_hooks.admission.causes import invalid, required, unknown, wrong_type
from sync_hooks.admission.official.accepted import NOTHING, accepted, field_errors, load, whole_errors
from sync_hooks.admission.official.rules import RULES, WHOLE_RULES
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.quantity import parse_quantity

REST = "*"  # among the fields of a type: it may have others too, of which nothing is known
QUANTITY = "must be a quantity, for example 8, 500m or 64Gi"


@dataclass(frozen=True, slots=True)
class OfficialField:
    """One field of an official type."""

    type: str
    required: bool


@cache
def official_types() -> Mapping[str, Mapping[str, OfficialField]]:
    """Load the table: fields by type and name."""
    table: dict[str, dict[str, str]] = {**load("types.yaml"), **load("devices.yaml")}
    return {
        type_: {name.rstrip("!"): OfficialField(field, name.endswith("!")) for name, field in fields.items()}
        for type_, fields in table.items()
    }


@cache
def _required(type_: str) -> tuple[str, ...]:
    return tuple(name for name, field in official_types()[type_].items() if field.required)


def type_at(type_: str, parts: Iterable[str]) -> str | None:
    """Return the type of the place that a JSON pointer's parts lead to, None where there is none or any."""
    for part in parts:
        container, _, of = type_.partition(" ")
        if container in ("list", "map"):
            type_ = of
        elif part in official_types().get(type_, {}):
            type_ = official_types()[type_][part].type
        else:
            return None
    return type_


def official_errors(value: Value, type_: str, *, patch: bool = False, part: bool = False) -> Iterator[FieldError]:
    """Check a value against an official type: ``EnvVar``, ``list Volume``, ``trainer.TrainJobSpec``.

    In a ``patch`` nothing is required, null deletes, and directives of a strategic merge (``$patch``) may stand; in
    one that lays down no more than a ``part``, as a JSON patch does, nothing is required of entries of lists either.
    """
    patch = patch or part
    if value.json is None:
        if not patch:
            yield wrong_type(value, "left out where nothing is meant")
        return
    if plain := _PLAIN.get(type_):  # what most fields are
        yield from plain(value)
        return
    container, _, of = type_.partition(" ")
    if container == "list":
        yield from _list_errors(value, of, patch=patch, part=part)
    elif container == "map":
        yield from _map_errors(value, of, patch=patch)
    elif type_ != "any":
        yield from _object_errors(value, type_, patch=patch, part=part)


def _object_errors(value: Value, type_: str, *, patch: bool, part: bool) -> Iterator[FieldError]:
    if not isinstance(value.json, dict):
        yield wrong_type(value, "an object")
        return
    fields, rules = official_types()[type_], accepted().get(type_, NOTHING)
    for name in sorted(value.json):
        if name in fields:
            there = value.field(name)
            yield from official_errors(there, fields[name].type, patch=patch, part=part)
            if name in rules.fields:
                yield from field_errors(there, rules.fields[name])
        elif REST not in fields and not (patch and name.startswith("$")):
            yield unknown(value, name, fields)
    if not patch:
        for name in _required(type_):
            if name not in value.json:
                yield required(value.field(name), "must be given")
    if rules.given or rules.one:
        yield from whole_errors(value, rules, patch=patch)
    for more in (RULES,) if patch else (RULES, WHOLE_RULES):
        if type_ in more:
            yield from more[type_](value)


def _list_errors(value: Value, of: str, *, patch: bool, part: bool) -> Iterator[FieldError]:
    if not isinstance(value.json, list):
        yield wrong_type(value, "a list")
    named = "name" in official_types().get(of, ())  # else entries replace what is there, and so are whole
    for element in value.elements():
        yield from official_errors(element, of, patch=patch and (named or of not in official_types()), part=part)


def _map_errors(value: Value, of: str, *, patch: bool) -> Iterator[FieldError]:
    if not isinstance(value.json, dict):
        yield wrong_type(value, "an object")
    for _, entry in value.entries():
        yield from official_errors(entry, of, patch=patch)


def _plain(wanted: str, *types: type) -> Callable[[Value], Iterator[FieldError]]:
    def errors(value: Value) -> Iterator[FieldError]:
        boolean = isinstance(value.json, bool) and bool not in types
        if boolean or not isinstance(value.json, types):
            yield wrong_type(value, wanted)

    return errors


def _quantity(value: Value) -> Iterator[FieldError]:
    json: Any = value.json
    if isinstance(json, bool | dict | list):
        yield wrong_type(value, "a quantity")
    elif parse_quantity(json) is None or (isinstance(json, str) and (json != json.strip() or not json.isascii())):
        yield invalid(value, QUANTITY)


_PLAIN: Mapping[str, Callable[[Value], Iterator[FieldError]]] = {
    "boolean": _plain("a boolean", bool),
    "integer": _plain("an integer", int),
    "intOrString": _plain("an integer or a string", int, str),
    "number": _plain("a number", int, float),
    "quantity": _quantity,
    "string": _plain("a string", str),
}
