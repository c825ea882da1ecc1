"""What admission makes of one object: defaults, every error, every warning. One answer for server, command and hook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sync_hooks.admission.causes import not_supported, required, unknown, wrong_type
from sync_hooks.admission.defaulting import defaulted
from sync_hooks.admission.rules import KindRules, kind_rules, known_kinds
from sync_hooks.admission.shape import null_errors, shape_errors
from sync_hooks.admission.validation.names import annotation_advice, metadata_errors, name_errors
from sync_hooks.admission.validation.size import is_too_large, size_errors, written
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.model import API_VERSION

MOST_ERRORS = 256  # nobody reads more of one object, and looking for more of them takes time

TOP_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


@dataclass(frozen=True, slots=True)
class Admitted:
    """An object as it would be stored, what is wrong with it, and what its author should know."""

    object: Any
    errors: tuple[FieldError, ...] = ()
    """Sorted by field; empty where the object may be stored."""
    warnings: tuple[str, ...] = ()
    """Sorted, at most 120 characters each where the field's path is not longer itself."""

    @property
    def allowed(self) -> bool:
        """Whether the object may be stored."""
        return not self.errors


def admit(obj: Any) -> Admitted:
    """Judge an object of ours on its own. Total: never raises, whatever it is given that JSON can say."""
    root = Value(obj)
    api_version, kind = root.field("apiVersion"), root.field("kind")
    rules = kind_rules(api_version.json, kind.json)
    if rules is None:
        return Admitted(obj, tuple(_unknown_kind(root, api_version, kind)))
    result = defaulted(obj, rules.defaults)
    root = Value(result)
    errors = {(error.field, error.type): error for error in islice(_errors(root, rules), MOST_ERRORS)}
    warnings = set() if is_too_large(errors.values()) else set(_warnings(root, rules))
    return Admitted(result, tuple(errors[key] for key in sorted(errors)), tuple(sorted(warnings)))


def _errors(root: Value, rules: KindRules) -> Iterator[FieldError]:
    """Yield every error; where two say the same of one field, the last, a rule's own sentence, wins."""
    yield from _top_errors(root)
    yield from name_errors(root.field("metadata"), rules.names)
    yield from metadata_errors(root.field("metadata"))
    spec = root.field("spec")
    if not spec.present:
        yield required(spec, "must be given")
        return
    content = written(spec)
    sized = tuple(size_errors(spec, content))
    yield from sized
    if content is None or is_too_large(sized):
        return  # what cannot be stored is not worth a second look
    if b"null" in content:
        yield from null_errors(spec)
    yield from shape_errors(rules.model, spec)
    for field in spec.fields:
        for rule in rules.rules.get(field, ()):
            yield from rule(spec)
        for rule in rules.object_rules.get(field, ()):
            yield from rule(root)


def _warnings(root: Value, rules: KindRules) -> Iterator[str]:
    yield from annotation_advice(root.field("metadata"))
    spec = root.field("spec")
    for field in spec.fields:
        for advice in rules.advice.get(field, ()):
            yield from advice(spec)


def _top_errors(root: Value) -> Iterator[FieldError]:
    for name in root.fields:
        if name not in TOP_FIELDS:
            yield unknown(root, name, TOP_FIELDS)


def _unknown_kind(root: Value, api_version: Value, kind: Value) -> Iterator[FieldError]:
    if not isinstance(root.json, Mapping):
        yield wrong_type(root, "an object")
        return
    for where, supported in ((api_version, (API_VERSION,)), (kind, known_kinds())):
        if not where.present:
            yield required(where, "must be given")
        elif where.json not in supported:
            yield not_supported(where, supported)
