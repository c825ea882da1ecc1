"""Pods as overrides change them, and the volumes that pods of a run can have, whichever overrides match."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import forbidden, required
from sync_hooks.admission.official.pods import init_errors, kind_errors, own_errors
from sync_hooks.admission.validation.reserved import (
    framework_volumes,
    reserved_containers,
    reserved_mounts,
    reserved_volumes,
)
from sync_hooks.admission.validation.volumes import missing, mounts_errors, normal
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.trainer import TRAINING_RUNTIME


def pod_volumes(spec: Value) -> set[str]:
    """Name the volumes that a container of the run can mount: the run's own, those of every pod, those of overrides."""
    own = {volume.field("name").text for volume in spec.field("volumes").elements()}
    volumes = own | (reserved_volumes(spec).keys() - framework_volumes(spec).keys())
    if spec.field("overrides").present:
        pods = (*changed_pods(spec), *_pods_of_patches(spec))
        volumes |= {volume.field("name").text for pod in pods for volume in pod.field("volumes").elements()}
    return volumes


def changed_pods(spec: Value) -> Iterator[Value]:
    """Go through what overrides lay over the pod specs of the TrainingRuntime."""
    for override in spec.field("overrides").elements():
        for dependency in override.field("dependencies").elements():
            if dependency.field("kind").text == TRAINING_RUNTIME[1]:
                yield from _pods(dependency.field("spec"))


def _pods_of_patches(spec: Value) -> Iterator[Value]:
    from sync_hooks.admission.validation.jsonpatch import patched  # only wanted where there are overrides

    for override in spec.field("overrides").elements():
        written = (template for template, _ in patched(override.field("jobTemplatePatch")))
        for template in (override.field("jobTemplate"), *written):
            for patch in template.field("spec", "workload", "trainJob", "runtimePatches").elements():
                yield from _pods(patch.field("trainingRuntimeSpec"))


def _pods(runtime_spec: Value) -> Iterator[Value]:
    for job in runtime_spec.field("template", "spec", "replicatedJobs").elements():
        yield job.field("template", "spec", "template", "spec")


def pod_part_errors(spec: Value) -> Iterator[FieldError]:
    """Check init containers and volumes as parts of a pod; where overrides change pods, planning judges the whole."""
    given = {name: spec.fields.get(name) for name in ("initContainers", "volumes")}
    parts = Value({"restartPolicy": "Never", **given}, spec.path)
    yield from init_errors(parts) if _changes_pods(spec) else own_errors(parts)


def _changes_pods(spec: Value) -> bool:
    if not spec.field("overrides").present:
        return False
    return any(True for _ in (*changed_pods(spec), *_pods_of_patches(spec)))


def use_errors(container: Value, volumes: set[str]) -> Iterator[FieldError]:
    """Check that the volumes which a container uses are there."""
    yield from mounts_errors(container.field("volumeMounts"), volumes)
    files = (variable.field("valueFrom", "fileKeyRef") for variable in container.field("env").elements())
    named = (*(file.field("volumeName") for file in files), *_devices(container))
    yield from (missing(name, volumes) for name in named if name.text and name.text not in volumes)


def _devices(container: Value) -> Iterator[Value]:
    for device in container.field("volumeDevices").elements():
        yield device.field("name")


def mount_errors(spec: Value) -> Iterator[FieldError]:
    """Check the mounts of the workload's containers."""
    taken = reserved_mounts(spec)
    yield from mounts_errors(spec.field("volumeMounts"), pod_volumes(spec))
    privileged = any(True for _ in changed_pods(spec))  # by an override, as far as is known here
    for mount in spec.field("volumeMounts").elements():
        path, propagation = mount.field("mountPath"), mount.field("mountPropagation")
        place = normal(path.text)
        if place in taken:
            yield forbidden(path, f"{place} is the place of {taken[place]}: choose another path")
        if propagation.json == "Bidirectional" and not privileged:
            yield forbidden(propagation, "only privileged containers may mount for others, and the workload's is none")


def variable_use_errors(spec: Value) -> Iterator[FieldError]:
    """Check that files which variables of the workload are read from lie in volumes that are there."""
    sources = (one.field("valueFrom") for one in spec.field("env").elements() if "valueFrom" in one.fields)
    names = [name for source in sources if (name := source.field("fileKeyRef", "volumeName")).text]
    if names:
        volumes = pod_volumes(spec)
        yield from (missing(name, volumes) for name in names if name.text not in volumes)
        if not _changes_pods(spec):
            known = {volume.field("name").text: volume for volume in spec.field("volumes").elements()}
            yield from (error for name in names for error in kind_errors(name, known, ("emptyDir",)))


def changed_pod_errors(spec: Value) -> Iterator[FieldError]:
    """Check the containers of pods that overrides change: new ones have an image, all find their volumes."""
    pods = list(changed_pods(spec))
    if not pods:
        return
    volumes = pod_volumes(spec) | framework_volumes(spec).keys()
    fields = [pod.field(name) for pod in pods for name in ("initContainers", "containers")]
    containers = [one for field in fields for one in field.elements()]
    with_image = (*spec.field("initContainers").elements(), *(one for one in containers if one.field("image").present))
    known = {one.field("name").text for one in with_image} | reserved_containers(spec).keys()
    for container in containers:
        if (name := container.field("name").text) and name not in known:
            yield required(container.field("image"), f"must be given: no container is named {name} yet")
        yield from use_errors(container, volumes)
