"""Names of our objects: what the run's name becomes part of, and how long it may be for that."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, required, too_long, wrong_type
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import NameRule

GENERATED = "xxxxx"  # what the API server appends to generateName


def name_errors(metadata: Value, rule: NameRule) -> Iterator[FieldError]:
    """Check name and generateName: the prefix with what will be appended to it."""
    if metadata.present and not isinstance(metadata.json, dict):
        yield wrong_type(metadata, "an object")
        return
    name, prefix = metadata.field("name"), metadata.field("generateName")
    for where in (name, prefix):
        if where.present and not isinstance(where.json, str):
            yield wrong_type(where, "a string")
    if name.text:
        yield from _errors(name, "", rule)
    elif prefix.text:
        yield from _errors(prefix, GENERATED, rule)
    elif not name.present or name.json == "":
        yield required(name, "name or generateName must be given")


def _errors(where: Value, more: str, rule: NameRule) -> Iterator[FieldError]:
    if not re.fullmatch(rule.pattern, where.text + more):
        yield invalid(where, rule.meaning)
    if len(where.text) + len(more) > rule.longest:
        yield too_long(where, rule.longest - len(more))
