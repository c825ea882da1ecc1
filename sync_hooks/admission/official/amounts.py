"""Amounts of resources: names that there are, numbers that can be given, requests that limits allow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sync_hooks.admission.causes import invalid, required
from sync_hooks.admission.validation.grammar import label_key
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.quantity import parse_quantity

HUGE_PAGES = "hugepages-"
REQUESTS = "requests."
NATIVE = ("cpu", "memory", "ephemeral-storage")
"""Resources of a container that have no domain, besides those of huge pages."""


def amount_errors(resources: Value) -> Iterator[FieldError]:
    """Check each limit and each request of a ResourceRequirements."""
    for part in (resources.field("limits"), resources.field("requests")):
        for name, amount in part.entries():
            if not name.startswith("$"):
                yield from _amount_errors(name, amount)


def requirement_errors(resources: Value) -> Iterator[FieldError]:
    """Check limits and requests against each other."""
    limits, requests = resources.field("limits"), resources.field("requests")
    for name, request in requests.entries():
        yield from _request_errors(name, request, limits.key(name))
    named = limits.fields.keys() | requests.fields.keys()
    pages = sorted(name for name in named if name.startswith(HUGE_PAGES))
    if pages and not named & {"cpu", "memory"}:
        yield required(resources, f"cpu or memory must be given with {pages[0]}")


def _amount_errors(name: str, amount: Value) -> Iterator[FieldError]:
    if sentence := label_key(name) or _unknown_resource(name):
        yield invalid(Value(name, amount.path), sentence)
    number = parse_quantity(amount.json)
    if number is None:
        return  # told by its shape
    if number < 0:
        yield invalid(amount, "must not be negative")
    elif (page := _page_size(name)) and number % page:
        yield invalid(amount, f"must be a whole number of pages of {name.removeprefix(HUGE_PAGES)}")
    elif _is_extended(name) and number.denominator != 1:
        yield invalid(amount, "must be a whole number: this resource is not divided")


def _unknown_resource(name: str) -> str | None:
    """Check that a resource without a domain is one of those that Kubernetes has."""
    if name.startswith(REQUESTS):
        return f"must not begin with {REQUESTS}, as quotas write it: which of the two it is, its place says"
    if "/" in name or name in NATIVE or _page_size(name):
        return None
    return f"must be one of {', '.join(NATIVE)}, {HUGE_PAGES}<size>, or a name with a domain such as nvidia.com/gpu"


def _page_size(name: str) -> Fraction | None:
    """Return the size of huge pages in bytes, None where a resource is none of such pages."""
    return (parse_quantity(name.removeprefix(HUGE_PAGES)) or None) if name.startswith(HUGE_PAGES) else None


def _request_errors(name: str, request: Value, limit: Value) -> Iterator[FieldError]:
    asked, most = parse_quantity(request.json), parse_quantity(limit.json)
    if asked is None:
        return
    if _is_extended(name) and not limit.present:
        yield required(limit, f"must be given and equal the request: {name} cannot be overcommitted")
    elif most is not None and _exceeds(name, asked, most):
        relation = "equal" if _is_extended(name) else "be at most"
        yield invalid(request, f"must {relation} the limit, {limit.json}")


def _exceeds(name: str, asked: Fraction, most: Fraction) -> bool:
    return asked != most if _is_extended(name) else asked > most


def _is_extended(name: str) -> bool:
    """Tell whether a resource is counted in whole units and cannot be overcommitted."""
    domain, slash, _ = name.partition("/")
    return name.startswith(HUGE_PAGES) or bool(
        slash and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")
    )
