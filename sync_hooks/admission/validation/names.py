"""Metadata of our objects: names that other names are made of, and what the API server takes beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, nearest, required, too_long, wrong_type
from sync_hooks.admission.official.shape import official_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import NameRule
from sync_hooks.api.model import GROUP
from sync_hooks.api.names import ANNOTATION_ENDED, ANNOTATION_GROUP_NODES, ANNOTATION_RETENTION

GENERATED = "xxxxx"  # what the API server appends to generateName
JUDGED = frozenset({"generateName", "name"})
STAMPED = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""What no author writes."""

ELSEWHERE = JUDGED | STAMPED

ANNOTATIONS = (ANNOTATION_ENDED, ANNOTATION_GROUP_NODES, ANNOTATION_RETENTION)


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


def metadata_errors(metadata: Value) -> Iterator[FieldError]:
    """Check the rest of what an author writes, as the API server does before it asks us: a file has not been there."""
    if not metadata.fields.keys() <= ELSEWHERE:
        written = {name: part for name, part in metadata.fields.items() if name not in ELSEWHERE}
        yield from official_errors(Value(written, metadata.path), "meta.ObjectMeta", patch=True)  # null is absent


def annotation_advice(metadata: Value) -> Iterator[str]:
    """Point at annotations that look like ours, and that nobody reads."""
    for key, value in metadata.field("annotations").entries():
        if key.startswith(f"{GROUP}/") and key not in ANNOTATIONS:
            near = nearest(key, ANNOTATIONS)
            yield f"{value}: nothing reads this annotation{f'; did you mean {near}?' if near else ''}"


def _errors(where: Value, more: str, rule: NameRule) -> Iterator[FieldError]:
    if not re.fullmatch(rule.pattern, where.text + more):
        yield invalid(where, rule.meaning)
    if len(where.text) + len(more) > rule.longest:
        yield too_long(where, rule.longest - len(more))
