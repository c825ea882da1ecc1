"""What says where a pod may run: tolerations, selectors, affinity, spread. One function a type."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid, not_supported, required
from sync_hooks.admission.validation.grammar import label_value
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

NAME = "metadata.name"
"""The only field of a node that it can be selected by."""

_NUMBER = re.compile("0|-?[1-9][0-9]{0,18}")


def toleration_errors(toleration: Value) -> Iterator[FieldError]:
    """Check a value against its operator."""
    operator, value = toleration.field("operator"), toleration.field("value")
    if operator.json == "Exists" and value.text:
        yield invalid(value, "must be empty with operator Exists, which takes any")
    elif operator.json in ("Gt", "Lt") and value.present and not _is_number(value.text):
        yield invalid(value, f"must be a whole number with operator {operator.json}")
    elif operator.json in (None, "", "Equal") and (sentence := label_value(value.text)):
        yield invalid(value, sentence)


def keyless_errors(toleration: Value) -> Iterator[FieldError]:
    """Check what a toleration needs to have."""
    operator = toleration.field("operator")
    if not toleration.field("key").text and operator.json != "Exists":
        yield invalid(operator, "must be Exists without a key: then every taint is tolerated")
    seconds = toleration.field("tolerationSeconds")
    if seconds.present and toleration.field("effect").json != "NoExecute":
        yield invalid(toleration.field("effect"), "must be NoExecute with tolerationSeconds")


def selection_errors(requirement: Value) -> Iterator[FieldError]:
    """Check the number of values against their operator."""
    operator, values = requirement.field("operator"), requirement.field("values")
    if operator.json in ("In", "NotIn") and not values.json:
        yield required(values, f"must name at least one value for {operator.json}")
    if operator.json in ("Exists", "DoesNotExist") and values.json:
        yield forbidden(values, f"{operator.json} takes no values")
    if operator.json in ("Gt", "Lt") and (not isinstance(values.json, list) or len(values.json) != 1):
        yield required(values, f"must be one number for {operator.json}")


def label_values_errors(selector: Value) -> Iterator[FieldError]:
    """Check the values of labels that a node must have; what is merely preferred may name others."""
    for term in selector.field("nodeSelectorTerms").elements():
        for requirement in term.field("matchExpressions").elements():
            for value in requirement.field("values").elements():
                if sentence := label_value(value.text):
                    yield invalid(value, sentence)


def node_field_errors(term: Value) -> Iterator[FieldError]:
    """Check what is asked of a node's fields."""
    for requirement in term.field("matchFields").elements():
        key, operator, values = (requirement.field(name) for name in ("key", "operator", "values"))
        if key.text and key.text != NAME:
            yield not_supported(key, (NAME,))
        if operator.text and operator.text not in ("In", "NotIn"):
            yield not_supported(operator, ("In", "NotIn"))
        if isinstance(values.json, list) and len(values.json) > 1:
            yield invalid(values, "must be one name: a node has no more")


def label_key_errors(term: Value) -> Iterator[FieldError]:
    """Check keys of labels whose values are taken from the pod itself."""
    selector, mismatched = term.field("labelSelector"), term.field("mismatchLabelKeys")
    for keys in (term.field("matchLabelKeys"), mismatched):
        if keys.json and not selector.present:
            yield forbidden(keys, "may only be given with a labelSelector")
    others = {key.text for key in mismatched.elements()}
    for key in term.field("matchLabelKeys").elements():
        if key.text in others:
            yield invalid(key, "may not stand in mismatchLabelKeys too")


def constraint_errors(constraint: Value) -> Iterator[FieldError]:
    """Check that a number of domains is asked for where it can be, and keys beside a selector."""
    yield from label_key_errors(constraint)
    least, action = constraint.field("minDomains"), constraint.field("whenUnsatisfiable")
    if least.present and action.text and action.json != "DoNotSchedule":
        yield invalid(least, "may only be given with whenUnsatisfiable: DoNotSchedule")


def spread_errors(pod: Value) -> Iterator[FieldError]:
    """Check that a pod is spread over each key once."""
    seen: set[tuple[str, str]] = set()
    for constraint in pod.field("topologySpreadConstraints").elements():
        kind = (constraint.field("topologyKey").text, constraint.field("whenUnsatisfiable").text)
        if all(kind) and kind in seen:
            yield duplicate(constraint.field("topologyKey"))
        seen.add(kind)


def _is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) and -(2**63) <= int(text) < 2**63
