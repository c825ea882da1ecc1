"""What the rendered pods already have, by framework: volumes, mounts, containers, variables. A user's would collide."""

from __future__ import annotations

from collections.abc import Mapping

from sync_hooks.admission.value import Value
from sync_hooks.api.trainer import WORKER
from sync_hooks.runtimes import mpi, ssh
from sync_hooks.runtimes.pods import SHARED_MEMORY, SHARED_MEMORY_MOUNT

SHM_VOLUME: str = SHARED_MEMORY["name"]
CONFIG_VOLUME = "config-volume"
CHECKPOINT_VOLUME = "checkpoint"

_SHM = "shared memory of the ranks"
_OF_FIELDS = {
    "checkpoint": (CHECKPOINT_VOLUME, "/checkpoint", "the storage of spec.checkpoint"),
    "config": (CONFIG_VOLUME, "/config", "the files of spec.config"),
}
"""Volume, place and purpose of what pods have only where a field of the spec asks for it."""

_KEYS = "the keys of the ranks"
_HOSTS = "the list of hosts"
MPI_VOLUMES = dict.fromkeys(mpi.RESERVED_VOLUMES, f"{_KEYS}, or {_HOSTS}")

MPI_MOUNTS = {ssh.HOSTFILE_PATH: _HOSTS, ssh.SSH_PATH: _KEYS, ssh.RAW_KEYS_PATH: _KEYS}

CONTAINERS = {WORKER: "the workload"}
MPI_CONTAINERS = {mpi.LAUNCHER_INIT_NAME: "the launcher's keys"}

TORCH_VARIABLES = frozenset({"PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE"})
MPI_VARIABLES = frozenset(
    {
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
    }
)
"""Variables that Kubeflow Trainer 2.3 sets itself and refuses in a TrainJob (its pkg/constants)."""


def reserved_volumes(spec: Value) -> Mapping[str, str]:
    """Return the names of volumes that the pods have, each with what it is for."""
    asked = {volume: purpose for volume, _, purpose in _asked_for(spec)}
    return {SHM_VOLUME: _SHM, **asked, **framework_volumes(spec)}


def framework_volumes(spec: Value) -> Mapping[str, str]:
    """Return the names of volumes that the framework alone brings, each with what it is for."""
    return MPI_VOLUMES if _is_mpi(spec) else {}


def reserved_mounts(spec: Value) -> Mapping[str, str]:
    """Return the paths where the containers have a mount, each with what it is for."""
    asked = {place: purpose for _, place, purpose in _asked_for(spec)}
    return {SHARED_MEMORY_MOUNT["mountPath"]: _SHM, **asked, **(MPI_MOUNTS if _is_mpi(spec) else {})}


def reserved_containers(spec: Value) -> Mapping[str, str]:
    """Return the names of containers that the pods have, each with what it is for."""
    return {**CONTAINERS, **(MPI_CONTAINERS if _is_mpi(spec) else {})}


def reserved_variables(spec: Value) -> frozenset[str]:
    """Return the names of environment variables that are set for the framework."""
    if _is_mpi(spec):
        return MPI_VARIABLES
    return TORCH_VARIABLES if spec.field("framework", "torch").present else frozenset()


def _asked_for(spec: Value) -> list[tuple[str, str, str]]:
    return [names for field, names in _OF_FIELDS.items() if spec.field(field).present]


def _is_mpi(spec: Value) -> bool:
    return spec.field("framework", "mpi").present
