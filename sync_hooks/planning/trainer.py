"""Step that asks what Kubeflow Trainer's webhooks ask of a TrainJob and its runtime: each fits the other.

Trainer 2.3, `pkg/webhooks` and the Validate of its plugins for JobSet, torch and MPI.
"""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import forbidden, invalid, required
from sync_hooks.admission.validation.pods import use_errors
from sync_hooks.admission.validation.reserved import MPI_VOLUMES, reserved_variables
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.trainer import ANCESTOR_TRAINER, LABEL_ANCESTOR, WORKER
from sync_hooks.planning.admitted import refused
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State

KINDS = ("initContainers", "containers")
INITIALIZERS = {"dataset": "dataset-initializer", "model": "model-initializer"}
"""What a TrainJob can have loaded, and the replicatedJob, container and ancestor that load it."""
ANCESTORS = {ANCESTOR_TRAINER: WORKER, **{name: name for name in INITIALIZERS.values()}}
"""The container that Trainer fills in, by the label of its replicatedJob."""
SHARED_VOLUME = "initializer"  # what initializers load into


def check_trainer(state: State) -> State | Unplannable:
    """Make sure that Trainer takes the TrainJobs and their runtime."""
    found = {error.field: error for error in _errors(state)}
    told = [f"{field}: {found[field].message}" for field in sorted(found)]
    return refused(state, "Kubeflow Trainer would refuse ", told) if told else state


def _errors(state: State) -> Iterator[FieldError]:
    draft = state.draft
    runtime = Value(draft.runtime["spec"], ("runtime", "spec"))
    train_job = Value(draft.job["spec"]["workload"]["trainJob"], ("spec", "workload", "trainJob"))
    pods = {name.text: pod for name, pod in _pods(runtime)}
    yield from _replica_errors(runtime)
    yield from _target_errors(runtime, pods)
    yield from _variable_errors(train_job, state)
    yield from _initializer_errors(train_job, pods)
    for patch in train_job.field("runtimePatches").elements():
        for name, patched in _pods(patch.field("trainingRuntimeSpec")):
            if name.text in pods:
                yield from _container_errors(patched, pods[name.text], state)
            else:
                yield invalid(name, f"must be a replicatedJob of the runtime: {', '.join(sorted(pods))}")


def _replica_errors(runtime: Value) -> Iterator[FieldError]:
    """Check the replicatedJobs that Trainer fills in, and the workers, which are counted as pods of one Job."""
    for job in runtime.field("template", "spec", "replicatedJobs").elements():
        ancestor = job.field("template", "metadata", "labels").key(LABEL_ANCESTOR).text
        replicas = job.field("replicas")
        filled = ancestor in ANCESTORS
        if (filled or job.field("name").json == WORKER) and replicas.json not in (None, 1):
            yield invalid(replicas, "must be 1: how many pods there are, trainer.numNodes says")
        pod = job.field("template", "spec", "template", "spec")
        if filled and ANCESTORS[ancestor] not in _names(pod.field("containers")):
            yield required(pod.field("containers"), f"a container {ANCESTORS[ancestor]} must be given")


def _target_errors(runtime: Value, pods: dict[str, Value]) -> Iterator[FieldError]:
    """Check that the containers which get torchrun's variables besides the workload's are there."""
    for target in runtime.field("mlPolicy", "torch", "envInjection", "targets").elements():
        job = target.field("jobName")
        if job.text not in pods:
            yield invalid(job, f"must be a replicatedJob of the runtime: {', '.join(sorted(pods))}")
            continue
        names = set[str]().union(*(_names(pods[job.text].field(kind)) for kind in KINDS))
        for name in target.field("containerNames").elements():
            if name.text not in names:
                yield invalid(name, f"must be a container of the pod: {', '.join(sorted(names))}")
            elif name.text == WORKER:
                yield forbidden(name, "Trainer gives the workload these in any case")


def _variable_errors(train_job: Value, state: State) -> Iterator[FieldError]:
    taken = reserved_variables(Value({"framework": {state.spec.framework.kind: {}}}))
    for variable in train_job.field("trainer", "env").elements():
        if (name := variable.field("name")).text in taken:
            yield forbidden(name, f"{name.text} is set by Kubeflow Trainer")


def _initializer_errors(train_job: Value, pods: dict[str, Value]) -> Iterator[FieldError]:
    """Check that what is to be loaded is loaded by somebody."""
    for kind, name in INITIALIZERS.items():
        asked = train_job.field("initializer", kind)
        if not asked.present:
            continue
        pod = pods.get(name, Value(None))
        loaders = [one for one in pod.field("containers").elements() if one.field("name").json == name]
        if not any(SHARED_VOLUME in _names(one.field("volumeMounts")) for one in loaders):
            where = f"a replicatedJob {name} with a container {name} that mounts the volume {SHARED_VOLUME}"
            yield forbidden(asked, f"the runtime has not {where}; init containers of the run can load data")


def _container_errors(patched: Value, pod: Value, state: State) -> Iterator[FieldError]:
    """Check the containers of a runtimePatch: they are there, and find their volumes."""
    names = set[str]().union(*(_names(pod.field(kind)) for kind in KINDS))
    volumes = _names(pod.field("volumes")) | _names(patched.field("volumes"))
    volumes |= MPI_VOLUMES.keys() if state.spec.framework.mpi is not None else set()
    for container in (one for kind in KINDS for one in patched.field(kind).elements()):
        if (name := container.field("name")).text not in names:
            yield invalid(name, f"must be a container of the runtime's pod: {', '.join(sorted(names))}")
        yield from use_errors(container, volumes)


def _names(listed: Value) -> set[str]:
    return {one.field("name").text for one in listed.elements()}


def _pods(runtime_spec: Value) -> Iterator[tuple[Value, Value]]:
    for job in runtime_spec.field("template", "spec", "replicatedJobs").elements():
        yield job.field("name"), job.field("template", "spec", "template", "spec")
