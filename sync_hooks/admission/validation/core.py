"""The shape of the parts of a spec that are of Kubernetes' own types; what they say is judged by the other rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sync_hooks.admission.official.shape import official_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError


def object_shape(name: str, type_: str) -> Callable[[Value], Iterator[FieldError]]:
    """Make the rule that a field holds an object of an official type."""

    def errors(spec: Value) -> Iterator[FieldError]:
        if isinstance(spec.field(name).json, dict):  # what is no object at all, our own model tells
            yield from official_errors(spec.field(name), type_)

    return errors


def list_shape(name: str, type_: str) -> Callable[[Value], Iterator[FieldError]]:
    """Make the rule that a field holds a list of objects of an official type."""

    def errors(spec: Value) -> Iterator[FieldError]:
        for element in spec.field(name).elements():
            if isinstance(element.json, dict):
                yield from official_errors(element, type_)

    return errors
