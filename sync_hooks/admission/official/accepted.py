"""What the API server accepts in fields of official types: the table of values, read and applied. Knows no types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sync_hooks.admission.causes import duplicate, forbidden, invalid, not_supported, required, too_many
from sync_hooks.admission.official.grammars import GRAMMARS
from sync_hooks.admission.validation.grammar import Check
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError


@dataclass(frozen=True, slots=True)
class Accepted:
    """What one field may be: the columns of the table."""

    words: tuple[str, ...] = ()
    range: tuple[int, int] | None = None
    grammar: Check | None = None
    keys: Check | None = None
    unique: str = ""
    most: int = 0
    never: str = ""


@dataclass(frozen=True, slots=True)
class OfType:
    """What the table says of one type."""

    fields: dict[str, Accepted] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    one: list[str] = field(default_factory=list)


NOTHING = OfType()


@cache
def accepted() -> Mapping[str, OfType]:
    """Load the table, by type."""
    found: dict[str, OfType] = {}
    for row in load("values.yaml"):
        type_, name = _place(row["of"])
        rules = found.setdefault(type_, OfType())
        if not name:
            rules.one.extend(row["one"])
            continue
        rules.fields[name] = _of_row(row)
        if row.get("given"):
            rules.given.append(name)
    return found


def load(name: str) -> Any:
    """Read one of the tables."""
    from importlib.resources import files  # wanted only where official types are

    import yaml

    return yaml.load(files("sync_hooks.admission.official").joinpath(name).read_text("utf-8"), Loader=yaml.CSafeLoader)


def _place(of: str) -> tuple[str, str]:
    """Split Type.field; names of types may have a dot, and begin with a capital behind it."""
    type_, _, name = of.rpartition(".")
    return (of, "") if name[0].isupper() else (type_, name)


def _of_row(row: Mapping[str, Any]) -> Accepted:
    return Accepted(
        words=tuple(row.get("words", ())),
        range=tuple(row["range"]) if "range" in row else None,
        grammar=GRAMMARS[row["grammar"]] if "grammar" in row else None,
        keys=GRAMMARS[row["keys"]] if "keys" in row else None,
        unique=row.get("unique", ""),
        most=row.get("most", 0),
        never=row.get("never", ""),
    )


def whole_errors(value: Value, rules: OfType, *, patch: bool) -> Iterator[FieldError]:
    """Check which fields of an object are given; in a patch those that are absent may be there already."""
    fields = value.fields
    for name in rules.given:
        if (json := fields.get(name)) in ("", [], {}):
            yield required(value.field(name), "must not be empty")
        elif json is None and not patch:
            yield required(value.field(name), "must be given")
    given = [name for name in rules.one if fields.get(name) is not None]
    if len(given) > 1:
        yield invalid(value, f"only one may be given, not {' and '.join(given)}")
    elif rules.one and not given and not patch:
        yield required(value, f"one of {', '.join(rules.one)} must be given")


def field_errors(value: Value, rule: Accepted) -> Iterator[FieldError]:
    """Check what a field says, where it is of its type."""
    if rule.never and value.present:
        yield forbidden(value, rule.never)
    if isinstance(value.json, str):
        yield from _text_errors(value, value.json, rule)
        return
    yield from _range_errors(value, rule)
    for part in _parts(value):
        yield from _text_errors(part, part.text, rule)
        yield from _range_errors(part, rule)
    for key, entry in value.entries() if rule.keys else ():
        if rule.keys and not key.startswith("$") and (sentence := rule.keys(key)):
            yield invalid(Value(key, entry.path), sentence)
    if rule.unique:
        yield from _unique_errors(value, rule.unique)
    if rule.most and isinstance(value.json, list) and len(value.json) > rule.most:
        yield too_many(value, len(value.json), rule.most)


def _parts(value: Value) -> Iterator[Value]:
    """Go through the elements of a list, or the values of a map."""
    yield from value.elements()
    yield from (entry for key, entry in value.entries() if not key.startswith("$"))


def _range_errors(value: Value, rule: Accepted) -> Iterator[FieldError]:
    number = value.number
    if rule.range and number is not None and not rule.range[0] <= number <= rule.range[1]:
        yield invalid(value, f"must be from {rule.range[0]} to {rule.range[1]}")


def _text_errors(value: Value, text: str, rule: Accepted) -> Iterator[FieldError]:
    if rule.words and text and text not in rule.words:
        yield not_supported(value, rule.words)
    elif rule.grammar and text and (sentence := rule.grammar(text)):
        yield invalid(value, sentence)


def _unique_errors(value: Value, name: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for element in value.elements():
        text = element.field(name).text
        if text and text in seen:
            yield duplicate(element.field(name))
        seen.add(text)
