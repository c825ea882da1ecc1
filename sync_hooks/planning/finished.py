"""Step that judges finished objects as a whole: what the API server, JobSet or Trainer would refuse ends planning.

Admission sees what an override writes, not what it makes of what is rendered. Judged once a plan: Jobs bring copies.
"""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import required
from sync_hooks.admission.official.shape import official_errors
from sync_hooks.admission.validation.dependencies import KINDS
from sync_hooks.admission.validation.pods import use_errors
from sync_hooks.admission.validation.reserved import MPI_VOLUMES
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.trainer import CONFIG_MAP, TRAINING_RUNTIME, JsonObject, kind_of
from sync_hooks.planning.admitted import refused
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State

CONTAINERS = ("initContainers", "containers")


def check_finished(state: State) -> State | Unplannable:
    """Make sure that every object which is planned could be created, those included that a Job template brings."""
    brought = [known for known in state.draft.job["spec"].get("dependencies") or () if kind_of(known) in KINDS]
    told = [text for known in (state.draft.runtime, *state.draft.objects, *brought) for text in _told(known, state)]
    return refused(state, "the cluster would refuse ", told) if told else state


def _told(known: JsonObject, state: State) -> Iterator[str]:
    """Tell what is wrong with an object, each field once."""
    name = Value(known).field("metadata", "name").text
    found = {error.field: error for error in _errors_of(known, state)}
    yield from (f"{kind_of(known)[1]} {name}: {field}: {found[field].message}" for field in sorted(found))


def _errors_of(known: JsonObject, state: State) -> Iterator[FieldError]:
    root = Value(known)
    for name, type_ in KINDS[kind_of(known)].items():
        field = root.field(name)
        if field.present:
            yield from official_errors(field, type_)
        elif kind_of(known) != CONFIG_MAP:
            yield required(field, "must be given")
    if kind_of(known) == TRAINING_RUNTIME:
        yield from _use_errors(root.field("spec"), state)


def _use_errors(spec: Value, state: State) -> Iterator[FieldError]:
    """Check that containers find their volumes: those of the pod, of a runtimePatch, and Trainer's own under MPI."""
    train_job = Value(state.draft.job).field("spec", "workload", "trainJob")
    patches = [patch.field("trainingRuntimeSpec") for patch in train_job.field("runtimePatches").elements()]
    brought = set(MPI_VOLUMES) if state.spec.framework.mpi is not None else set[str]()
    for name, pod in _pods(spec):
        pods = [pod, *(patched for patch in patches for patched_name, patched in _pods(patch) if patched_name == name)]
        volumes = brought | {volume.field("name").text for one in pods for volume in one.field("volumes").elements()}
        for container in (one for field in CONTAINERS for one in pod.field(field).elements()):
            yield from use_errors(container, volumes)


def _pods(runtime_spec: Value) -> Iterator[tuple[str, Value]]:
    for job in runtime_spec.field("template", "spec", "replicatedJobs").elements():
        yield job.field("name").text, job.field("template", "spec", "template", "spec")
