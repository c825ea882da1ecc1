"""Init containers: complete, with names of their own, with mounts of volumes that their pods have."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, required
from sync_hooks.admission.validation.environment import variable_errors
from sync_hooks.admission.validation.pods import pod_volumes, use_errors
from sync_hooks.admission.validation.reserved import reserved_containers
from sync_hooks.admission.validation.resources import claim_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

OF_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "resizePolicy", "startupProbe")
ENDS = "an init container ends before others start, unless its restartPolicy is Always"


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
        if isinstance(container.json, dict) and not reference.present:
            yield required(reference, "must be given")
        yield from variable_errors(container.field("env"))
        yield from use_errors(container, volumes)
        yield from claim_errors(container.field("resources"))
        if container.field("restartPolicy").json != "Always":
            yield from (forbidden(container.field(name), ENDS) for name in OF_SIDECARS if container.field(name).present)
