"""Images and resources: an image that can be pulled, quantities that a pod may ask for."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, invalid
from sync_hooks.admission.validation.grammar import check, dns_subdomain, image, label_key
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.names import GPU
from sync_hooks.api.quantity import parse_quantity
from sync_hooks.api.trainer import TRAINING_RUNTIME

LEAST_BYTES = 2**20  # nothing runs in less memory, and no storage is smaller
NO_GPU = "must be at least 1: each rank needs a GPU; where the platform's are claimed as devices, leave it out"


def image_errors(spec: Value) -> Iterator[FieldError]:
    """Check the image; an empty one is missing, says its model."""
    if spec.field("image").text:
        yield from check(spec.field("image"), image)


def secret_errors(spec: Value) -> Iterator[FieldError]:
    """Check the secrets that the image is pulled with."""
    seen: set[str] = set()
    for secret in spec.field("imagePullSecrets").elements():
        name = secret.field("name")
        if name.text:
            yield from check(name, dns_subdomain)
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)


def resource_errors(spec: Value) -> Iterator[FieldError]:
    """Check the resources of the worker containers, and that there is a GPU for every rank."""
    yield from claim_errors(spec.field("resources"))
    count = spec.field("gpusPerNode")
    if spec.field("framework", "exec").present:
        return  # its command is started once a node, whatever the number of GPUs
    amounts = [(amount, number) for amount in _gpu_amounts(spec) if (number := parse_quantity(amount.json)) is not None]
    if not _changes_runtime(spec):
        yield from (invalid(amount, NO_GPU) for amount, number in amounts if number == 0)
    named = max((number for _, number in amounts), default=0)
    if 0 < named < (count.number or 0):
        yield invalid(count, f"must be at most {named}, the {GPU} of spec.resources: each rank needs one of its own")


def _changes_runtime(spec: Value) -> bool:
    """Tell whether an override changes the runtime: it may claim GPUs as devices, and none are requested beside."""
    overrides = spec.field("overrides").elements()
    dependencies = (one for override in overrides for one in override.field("dependencies").elements())
    return any(one.field("kind").text == TRAINING_RUNTIME[1] for one in dependencies)


def nic_errors(spec: Value) -> Iterator[FieldError]:
    """Check the name of the fabric's resource."""
    nic = spec.field("nicResourceName")
    domain, slash, _ = nic.text.partition("/")
    if slash and (domain in ("kubernetes.io", "k8s.io") or domain.endswith((".kubernetes.io", ".k8s.io"))):
        yield invalid(nic, "the domains kubernetes.io and k8s.io are reserved")
    elif nic.text == GPU:
        yield invalid(nic, "must be the fabric's resource: that of the GPUs would be requested twice")
    elif nic.text and (sentence := label_key(nic.text)):
        yield invalid(nic, sentence)


def claim_errors(resources: Value) -> Iterator[FieldError]:
    """Check that no devices are claimed: the pods would lack the claim itself."""
    if resources.field("claims").json:
        yield forbidden(resources.field("claims"), "devices are claimed through the platform's table or spec.overrides")


def resource_advice(spec: Value) -> Iterator[str]:
    """Point at GPU counts that differ."""
    count = spec.field("gpusPerNode")
    for amount in _gpu_amounts(spec):
        number = parse_quantity(amount.json)
        if number is not None and count.number is not None and number != count.number:
            yield f"{amount}: {amount.json} differs from spec.gpusPerNode, {count.number}"


def memory_advice(spec: Value) -> Iterator[str]:
    """Point at memory without a unit."""
    for owner in (spec, *spec.field("initContainers").elements()):
        for part in ("limits", "requests"):
            yield from unit_advice(owner.field("resources", part).key("memory"))


def unit_advice(amount: Value) -> Iterator[str]:
    """Point at so few bytes that a unit was forgotten."""
    size = parse_quantity(amount.json)
    if size is not None and 0 < size < LEAST_BYTES:
        yield f"{amount}: {amount.json} is less than 1Mi: a unit such as Gi is missing"


def _gpu_amounts(spec: Value) -> list[Value]:
    return [spec.field("resources", part).key(GPU) for part in ("limits", "requests")]
