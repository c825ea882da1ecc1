"""Which nodes a run is about: selectors that are well formed and can match a node at all."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid, required
from sync_hooks.admission.validation.grammar import check, dns_subdomain, label_key, label_value
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import INTRA_NODE
from sync_hooks.api.target import LABEL_GPU_PRESENT

ONLY_GPU_NODES = f"only nodes labelled {LABEL_GPU_PRESENT}=true are ever tested"


def target_errors(spec: Value) -> Iterator[FieldError]:
    """Check the target of a spec."""
    yield from selection_errors(spec.field("target"))


def selection_errors(target: Value) -> Iterator[FieldError]:
    """Check a target, wherever it stands."""
    for key, value in target.field("nodeSelector").entries():
        yield from _key_errors(value, key)
        if value.text and (sentence := label_value(value.text)):
            yield invalid(value, sentence)
        if key == LABEL_GPU_PRESENT and isinstance(value.json, str) and value.json != "true":
            yield invalid(value, ONLY_GPU_NODES)
    for requirement in target.field("matchExpressions").elements():
        yield from _requirement_errors(requirement)
    yield from _name_errors(target.field("nodeNames"))
    for taint in target.field("taintSelectors").elements():
        yield from check(taint.field("key"), label_key)
        if (value := taint.field("value")).text and (sentence := label_value(value.text)):
            yield invalid(value, sentence)


def _requirement_errors(requirement: Value) -> Iterator[FieldError]:
    key, operator, values = (requirement.field(name) for name in ("key", "operator", "values"))
    yield from check(key, label_key)
    if operator.json in ("In", "NotIn") and not values.json:
        yield required(values, f"must name at least one value for {operator.json}")
    if operator.json in ("Exists", "DoesNotExist") and values.json:
        yield forbidden(values, f"{operator.json} takes no values")
    for value in values.elements():
        if value.text and (sentence := label_value(value.text)):
            yield invalid(value, sentence)
    if key.json == LABEL_GPU_PRESENT and not _takes_gpu_nodes(operator.json, values.json):
        yield invalid(operator, ONLY_GPU_NODES)


def _takes_gpu_nodes(operator: object, values: object) -> bool:
    named = isinstance(values, list) and "true" in values
    return not (operator == "DoesNotExist" or (operator == "NotIn" and named) or (operator == "In" and not named))


def _name_errors(names: Value) -> Iterator[FieldError]:
    seen: set[str] = set()
    for name in names.elements():
        yield from check(name, dns_subdomain)
        if name.text in seen:
            yield duplicate(name)
        seen.add(name.text)


def _key_errors(value: Value, key: str) -> Iterator[FieldError]:
    if sentence := label_key(key):
        yield invalid(Value(key, value.path), sentence)


def target_advice(spec: Value) -> Iterator[str]:
    """Point at empty parts, which restrict nothing."""
    target = spec.field("target")
    for name, part in target.fields.items():
        if part in ({}, []):
            yield f"{target.field(name)}: is empty and restricts nothing"
    names = target.fields.get("nodeNames")
    if names and isinstance(names, list):
        yield from _too_few_advice(spec, len(names))


def _too_few_advice(spec: Value, named: int) -> Iterator[str]:
    nodes, alone = spec.field("numNodes"), spec.field("orchestration", "testScale").json == INTRA_NODE
    if not alone and named < (nodes.number or 0):
        yield f"{nodes}: is more than the {named} nodes that spec.target.nodeNames names"
