"""Init containers: complete, with names of their own, with mounts of volumes that their pods have."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import duplicate, forbidden, required
from sync_hooks.admission.validation.environment import variable_errors
from sync_hooks.admission.validation.grammar import check, dns_label, image
from sync_hooks.admission.validation.reserved import CHECKPOINT_VOLUME, CONFIG_VOLUME, SHM_VOLUME, reserved_containers
from sync_hooks.admission.validation.resources import requirement_errors
from sync_hooks.admission.validation.volumes import mounts_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError

OF_SIDECARS = ("livenessProbe", "readinessProbe", "startupProbe")
ENDS = "an init container ends before others start, unless its restartPolicy is Always"


def container_errors(spec: Value) -> Iterator[FieldError]:
    """Check the init containers of the pods."""
    taken, seen = reserved_containers(spec), set[str]()
    for container in spec.field("initContainers").elements():
        name, reference = container.field("name"), container.field("image")
        yield from check(name, dns_label)
        if name.text in taken:
            yield forbidden(name, f"{name.text} is the container of {taken[name.text]}: choose another name")
        if name.text and name.text in seen:
            yield duplicate(name)
        seen.add(name.text)
        if isinstance(container.json, dict) and not reference.present:
            yield required(reference, "must be given")
        yield from check(reference, image)
        yield from variable_errors(container.field("env"))
        yield from mounts_errors(container.field("volumeMounts"), _volumes(spec))
        yield from requirement_errors(container.field("resources"))
        if not container.field("restartPolicy").present:
            yield from (forbidden(container.field(name), ENDS) for name in OF_SIDECARS if container.field(name).present)


def _volumes(spec: Value) -> set[str]:
    """Name the volumes that an init container can mount: the run's own, and those that every pod has."""
    volumes = {volume.field("name").text for volume in spec.field("volumes").elements()} | {SHM_VOLUME}
    if spec.field("config").present:
        volumes.add(CONFIG_VOLUME)
    if spec.field("checkpoint").present:
        volumes.add(CHECKPOINT_VOLUME)
    return volumes
