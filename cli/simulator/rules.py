"""What the API server refuses whatever the kind: bad names and labels, nulls, objects that are too large.

The limits are Kubernetes' own; a refusal is `errors.Invalid` with the text of the API server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from cli.simulator.entry import Object, encode
from cli.simulator.errors import Invalid
from cli.simulator.kinds import Kind
from sync_hooks.api.model import API_VERSION

MAX_NAME_LENGTH = 253
MAX_ANNOTATIONS_BYTES = 256 << 10  # all keys and values of one object together
MAX_OBJECT_BYTES = 3 << 19  # etcd's request limit, 1.5 MiB
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
OPEN = "x-kubernetes-preserve-unknown-fields"
WHOLE_FLOAT = re.compile(rb"\.0[,}\]]")  # as JSON ends one; also found in text, where nothing is changed
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def check(kind: Kind, obj: Object) -> None:
    """Raise Invalid with every broken rule; an object of a custom kind must have had its nulls looked for before."""
    problems = [*_names(obj["metadata"]), *_labels(obj["metadata"]), *_owners(obj["metadata"])]
    annotations = obj["metadata"].get("annotations")
    if annotations and sum(len(key) + len(value) for key, value in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        problems.append(f"metadata.annotations: Too long: may not be more than {MAX_ANNOTATIONS_BYTES} bytes")
    if problems:
        raise invalid(kind, obj["metadata"].get("name", ""), problems)


def stored_form(kind: Kind, obj: Object) -> tuple[Object, bytes]:
    """Return the object as it is stored, and its JSON.

    A CRD keeps whole floats as integers and refuses nulls, but where its schema is open; built-in kinds are returned as
    they came.
    """
    data = encode(obj)
    name = obj["metadata"].get("name", "")
    if len(data) > MAX_OBJECT_BYTES:
        raise invalid(kind, name, [f"Too long: may not be more than {MAX_OBJECT_BYTES} bytes"])
    if not kind.custom:
        return obj, data
    if b"null" in data and (problems := list(_nulls(obj, (), _schema(kind.api_version, kind.kind)))):
        raise invalid(kind, name, problems)
    if WHOLE_FLOAT.search(data) is None:
        return obj, data
    whole: Object = _whole_floats(obj)
    return whole, encode(whole)


def invalid(kind: Kind, name: str, problems: Iterable[str]) -> Invalid:
    """Word a 422 as the API server does."""
    listed = list(problems)
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    group_kind = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Invalid(f'{group_kind} "{name}" is invalid: {text}')


def _names(metadata: Object) -> Iterator[str]:
    name = metadata.get("name", "")
    if not name:
        yield "metadata.name: Required value: name or generateName is required"
    elif len(name) > MAX_NAME_LENGTH or not _is_subdomain(name):
        yield f'metadata.name: Invalid value: "{name}": must be a lowercase RFC 1123 subdomain, 253 at most'


@lru_cache(maxsize=1 << 14)
def _is_subdomain(name: str) -> bool:
    return SUBDOMAIN.fullmatch(name) is not None


def _labels(metadata: Object) -> Iterator[str]:
    for key, value in (metadata.get("labels") or {}).items():
        if not _is_label(key, value):
            yield f'metadata.labels: Invalid value: "{key}={value}": must be a qualified name and a valid label value'


@lru_cache(maxsize=1 << 16)
def _is_label(key: str, value: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not _is_subdomain(prefix):
        return False
    return LABEL_NAME.fullmatch(name) is not None and LABEL_VALUE.fullmatch(value) is not None


def _owners(metadata: Object) -> Iterator[str]:
    references = metadata.get("ownerReferences") or ()
    for index, reference in enumerate(references):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(field):
                yield f"metadata.ownerReferences[{index}].{field}: Invalid value: must not be empty"
    if sum(1 for reference in references if reference.get("controller")) > 1:
        yield "metadata.ownerReferences: Invalid value: Only one reference can have Controller set to true"


@cache
def _schema(api_version: str, kind: str) -> Object:
    """Return the schema of a kind of ours; of others' kinds nothing is known, and nothing is taken for open."""
    from sync_hooks.api.crd import object_schema  # heavy, and few objects hold a null
    from sync_hooks.api.kinds import KINDS

    known = KINDS if api_version == API_VERSION else ()
    return next((object_schema(one) for one in known if one.kind == kind), {})


def _nulls(value: Any, path: tuple[str, ...], schema: Object) -> Iterator[str]:
    """Yield the nulls where the schema knows what must stand there."""
    if value is None and "type" not in schema and OPEN in schema:
        return
    if value is None:
        yield f'{".".join(path)}: Invalid value: "null": must not be null'
    elif OPEN in schema:
        return
    elif isinstance(value, dict):
        fields: Object = schema.get("properties") or {}
        others: Object = schema.get("additionalProperties") or {}
        for key, member in value.items():
            yield from _nulls(member, (*path, key), fields.get(key, others))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _nulls(member, (*path[:-1], f"{path[-1]}[{index}]"), schema.get("items") or {})


def _whole_floats(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_floats(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_whole_floats(member) for member in value]
    return value
