"""Names of our objects: what the run's name becomes part of, and how long it may be for that."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, required, too_long, wrong_type
from sync_hooks.admission.validation.grammar import DNS_SUBDOMAIN
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import RUN_NAME_PATTERN

RUN_NAME = re.compile(RUN_NAME_PATTERN)

GENERATED_LENGTH = 5  # characters that the API server appends to generateName


def name_errors(metadata: Value, longest: int | None) -> Iterator[FieldError]:
    """Check name and generateName; with ``longest`` a name must be as a TrainJob's, of at most that length."""
    if metadata.present and not isinstance(metadata.json, dict):
        yield wrong_type(metadata, "an object")
        return
    name, prefix = metadata.field("name"), metadata.field("generateName")
    for where in (name, prefix):
        if where.present and not isinstance(where.json, str):
            yield wrong_type(where, "a string")
    if name.text:
        yield from _spelling(name, name.text, longest)
        yield from _length(name, longest, 0)
    elif prefix.text:
        yield from _spelling(prefix, prefix.text + "x" * GENERATED_LENGTH, longest)
        yield from _length(prefix, longest, GENERATED_LENGTH)
    elif not isinstance(name.json, int | float | list | dict):
        yield required(name, "name or generateName must be given")


def _spelling(where: Value, name: str, longest: int | None) -> Iterator[FieldError]:
    if longest is None and not DNS_SUBDOMAIN.fullmatch(name):
        yield invalid(where, "must consist of lower case letters, digits, '-' and '.', alphanumeric at both ends")
    if longest is not None and not RUN_NAME.fullmatch(name):
        yield invalid(
            where, "must consist of lower case letters, digits and '-', begin with a letter and not end with '-'"
        )


def _length(where: Value, longest: int | None, more: int) -> Iterator[FieldError]:
    if len(where.text) + more > (longest or 253):
        yield too_long(where, (longest or 253) - more)
