"""Init containers: complete, with names of their own, with mounts of volumes that their pods have."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, required
from sync_hooks.admission.validation.environment import variable_errors
from sync_hooks.admission.validation.pods import pod_part_errors, pod_volumes, use_errors
from sync_hooks.admission.validation.reserved import reserved_containers
from sync_hooks.admission.validation.resources import claim_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError


def container_errors(spec: Value) -> Iterator[FieldError]:
    """Check the init containers of the pods."""
    taken, volumes, seen = reserved_containers(spec), pod_volumes(spec), set[str]()
    for container in spec.field("initContainers").elements():
        name, reference = container.field("name"), container.field("image")
        if name.text in taken:
            yield forbidden(name, f"{name.text} is the container of {taken[name.text]}: choose another name")
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)
        if isinstance(container.json, dict) and reference.json in (None, ""):
            yield required(reference, "must be given")
        yield from variable_errors(container.field("env"))
        yield from use_errors(container, volumes)
        yield from claim_errors(container.field("resources"))
    yield from pod_part_errors(spec)
