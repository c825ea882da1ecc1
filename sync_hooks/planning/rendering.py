"""Step that renders: TrainingRuntime, ConfigMap, checkpoint claim and the Job template, before anything is changed."""

from __future__ import annotations

from dataclasses import replace

from sync_hooks.admission.validation.reserved import reserved_containers, reserved_mounts, reserved_volumes
from sync_hooks.admission.validation.volumes import normal
from sync_hooks.admission.value import Value
from sync_hooks.api.model import ApiModel
from sync_hooks.api.names import config_name, runtime_name
from sync_hooks.api.trainer import (
    LABEL_FRAMEWORK,
    PATCH_MANAGER,
    TRAINER_GROUP,
    TRAINING_RUNTIME,
    VOLUME_CLAIM,
    JsonObject,
)
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.overrides.draft import Draft, Naming
from sync_hooks.overrides.rows import platform_mpi_args
from sync_hooks.planning import reasons
from sync_hooks.planning.gang import gang_of, workload_labels
from sync_hooks.planning.plan import Unplannable
from sync_hooks.planning.state import State, give_up
from sync_hooks.runtimes.registry import RUNTIMES
from sync_hooks.runtimes.shell import fit
from sync_hooks.runtimes.workload import Rendered, Workload

CONFIG_VOLUME = "config-volume"
CONFIG_PATH = "/config"
CONFIG_MODE = 0o755  # configurations may hold scripts
CHECKPOINT_VOLUME = "checkpoint"
CHECKPOINT_PATH = "/checkpoint"
CHECKPOINT_CLAIM = "checkpoint-pvc"

NODE_FAILED = 'node.status.conditions.exists(c, c.type == "Ready" && c.status != "True")'
"""A node that is lost is a failed node; a cordon is not, it is somebody's decision."""


def render(state: State) -> State | Unplannable:
    """Render everything that the run itself asks for."""
    taken = _taken_names(state.spec)
    if taken:
        return give_up(state, reasons.BUILD_FAILED, taken)
    labels = workload_labels(state.spec)
    if isinstance(labels, str):
        return give_up(state, reasons.GANG_SCHEDULING_CONFLICT, labels)
    rendered = RUNTIMES[state.spec.framework.kind](_workload(state))
    naming = state.naming
    runtime: JsonObject = {
        "apiVersion": TRAINING_RUNTIME[0],
        "kind": TRAINING_RUNTIME[1],
        "metadata": {
            "name": runtime_name(naming.run),
            "namespace": naming.namespace,
            "labels": {**naming.labels, LABEL_FRAMEWORK: state.spec.framework.kind},
        },
        "spec": rendered.runtime_spec,
    }
    job = {"metadata": {}, "spec": _job_spec(state, rendered, labels)}
    return replace(
        state, draft=Draft(job, runtime, (*_config_maps(state.spec, naming), *_volume_claims(state.spec, naming)))
    )


def _taken_names(spec: WorkloadRunSpec) -> str:
    """Say which name or place of the user's is one that we or Trainer need; empty where none is.

    Admission refuses the same ones, but objects may be older than admission.
    """
    asked = {"config": spec.config, "checkpoint": spec.checkpoint}
    told = Value({"framework": {spec.framework.kind: {}}, **{name: {} for name, given in asked.items() if given}})
    listed = (
        ("volumes", "name", spec.volumes, reserved_volumes(told)),
        ("volumeMounts", "mountPath", spec.volume_mounts, reserved_mounts(told)),
        ("initContainers", "name", spec.init_containers, reserved_containers(told)),
    )
    for field, key, entries, taken in listed:
        for number, entry in enumerate(entries or ()):
            word = str(entry.get(key))
            place = normal(word) if key == "mountPath" else word
            if place in taken:
                return f"spec.{field}[{number}].{key}: {place} is taken by {taken[place]}"
    return ""


def _workload(state: State) -> Workload:
    spec = state.spec
    volumes, mounts = _storage(spec, state.naming)
    return Workload(
        framework=spec.framework,
        image=spec.image,
        nodes=state.orchestration.group_size,
        gpus=state.gpus,
        timeout_seconds=state.orchestration.timeout_seconds,
        mnnvl=state.mnnvl,
        user_env=spec.env or (),
        platform_mpi_args=platform_mpi_args(state.rows),
        resources=spec.resources,
        volumes=volumes,
        volume_mounts=mounts,
        init_containers=spec.init_containers or (),
        gang=gang_of(spec),
    )


def _storage(spec: WorkloadRunSpec, naming: Naming) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return volumes and mounts: the user's, then configuration and checkpoints."""
    volumes = [_known_claim(volume, naming) for volume in spec.volumes or ()]
    mounts = list(spec.volume_mounts or ())
    if spec.config is not None:
        name = spec.config.config_map_ref.name if spec.config.config_map_ref else config_name(naming.run)
        volumes.append({"name": CONFIG_VOLUME, "configMap": {"name": name, "defaultMode": CONFIG_MODE}})
        mounts.append({"name": CONFIG_VOLUME, "mountPath": CONFIG_PATH})
    if spec.checkpoint is not None:
        claim = f"{naming.base}-{CHECKPOINT_CLAIM}"
        volumes.append({"name": CHECKPOINT_VOLUME, "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": CHECKPOINT_VOLUME, "mountPath": CHECKPOINT_PATH})
    return volumes, mounts


def _known_claim(volume: JsonObject, naming: Naming) -> JsonObject:
    """Let a user's volume name the checkpoint claim by the whole name of the run."""
    source = volume.get("persistentVolumeClaim")
    if not isinstance(source, dict) or source.get("claimName") != f"{naming.run}-{CHECKPOINT_CLAIM}":
        return volume
    return {**volume, "persistentVolumeClaim": {**source, "claimName": f"{naming.base}-{CHECKPOINT_CLAIM}"}}


def _job_spec(state: State, rendered: Rendered, labels: dict[str, str]) -> JsonObject:
    spec = state.spec
    optional = {
        "workloadMetadata": {"labels": labels} if labels else None,
        "goodputMeasurement": _written(spec.goodput_measurement),
        "bandwidthMeasurement": _written(spec.bandwidth_measurement),
        "checkpoint": _checkpoint(spec, state.naming),
        "thresholds": dict(spec.thresholds) if spec.thresholds else None,
        "fabricExpected": _fabric_expected(state),
        "nodesApart": _apart(spec) or None,
    }
    return {
        "workload": {"trainJob": _train_job(state, rendered)},
        "timeout": state.orchestration.timeout,
        "nodeHealthMonitor": {"cel": {"expression": NODE_FAILED}},
        **{key: value for key, value in optional.items() if value is not None},
    }


def _fabric_expected(state: State) -> bool | None:
    """Tell whether traffic is to go over a fabric: by the platform's rows, by the run's own word, or None."""
    if any(row.fabric for row in state.rows):
        return True
    return False if state.spec.mlnx_per_node == 0 else None


def _apart(spec: WorkloadRunSpec) -> bool:
    """Tell whether each node runs a program of its own that is measured: a bare command is given no rendezvous."""
    measured = spec.bandwidth_measurement is not None or spec.goodput_measurement is not None
    return measured and spec.framework.exec is not None


def _train_job(state: State, rendered: Rendered) -> JsonObject:
    lines = [line for row in state.rows for line in row.pre_command]
    command, args = fit(rendered.command, rendered.args, lines)
    secrets = [secret.to_dict() for secret in state.spec.image_pull_secrets or ()]
    pods = {"template": {"spec": {"template": {"spec": {"imagePullSecrets": secrets}}}}} if secrets else {}
    patched = [{"name": name, **pods} for name in rendered.replicated_jobs]
    patch = {
        "manager": PATCH_MANAGER,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": patched}}},
    }
    trainer: JsonObject = {
        "image": state.spec.image,
        "command": command,
        **({"args": args} if args else {}),
        "numNodes": state.orchestration.group_size,
        "numProcPerNode": state.gpus,
    }
    reference = {"apiGroup": TRAINER_GROUP, "kind": TRAINING_RUNTIME[1], "name": runtime_name(state.naming.run)}
    return {"runtimeRef": reference, "trainer": trainer, "runtimePatches": [patch]}


def _checkpoint(spec: WorkloadRunSpec, naming: Naming) -> JsonObject | None:
    if spec.checkpoint is None:
        return None
    return {"pvcName": f"{naming.base}-{CHECKPOINT_CLAIM}", "maxRestarts": spec.checkpoint.max_restarts or 0}


def _written(template: ApiModel | None) -> JsonObject | None:
    return None if template is None else template.to_dict()


def _config_maps(spec: WorkloadRunSpec, naming: Naming) -> tuple[JsonObject, ...]:
    if spec.config is None or not spec.config.inline:
        return ()
    metadata = {**naming.metadata("config"), "name": config_name(naming.run)}
    return ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(spec.config.inline)},)


def _volume_claims(spec: WorkloadRunSpec, naming: Naming) -> tuple[JsonObject, ...]:
    """Return the claim for checkpoints: one a group, writable by all its nodes."""
    if spec.checkpoint is None:
        return ()
    given = spec.checkpoint
    claim: JsonObject = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": given.storage_size}},
        **({"storageClassName": given.storage_class_name} if given.storage_class_name is not None else {}),
    }
    metadata = naming.metadata(CHECKPOINT_CLAIM)
    return ({"apiVersion": VOLUME_CLAIM[0], "kind": VOLUME_CLAIM[1], "metadata": metadata, "spec": claim},)
