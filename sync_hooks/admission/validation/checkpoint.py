"""Checkpoint storage: an amount that can be asked for, of a class that can exist."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid
from sync_hooks.admission.validation.grammar import dns_subdomain
from sync_hooks.admission.validation.resources import unit_advice
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.quantity import parse_quantity


def checkpoint_errors(spec: Value) -> Iterator[FieldError]:
    """Check size and class; an empty class means a volume that is there already."""
    checkpoint = spec.field("checkpoint")
    size, storage_class = checkpoint.field("storageSize"), checkpoint.field("storageClassName")
    if parse_quantity(size.text) == 0:
        yield invalid(size, "must be greater than 0")
    if storage_class.text and (sentence := dns_subdomain(storage_class.text)):
        yield invalid(storage_class, sentence)


def size_advice(spec: Value) -> Iterator[str]:
    """Point at a size without a unit."""
    return unit_advice(spec.field("checkpoint", "storageSize"))
