"""Open MPI: workers that run sshd and a launcher that runs mpirun.

Trainer brings the keys (Secret), the hostfile (ConfigMap) and their volumes; it puts the TrainJob's image and command
into the launcher only, so that workers keep their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sync_hooks.api.trainer import LAUNCHER, WORKER, JsonObject
from sync_hooks.runtimes import ssh
from sync_hooks.runtimes.env import base_env, merge_env
from sync_hooks.runtimes.pods import (
    SHARED_MEMORY,
    SHARED_MEMORY_MOUNT,
    asks_for_devices,
    init_containers,
    mounts,
    replicated_job,
    volumes,
    worker_resources,
)
from sync_hooks.runtimes.workload import KAI_SCHEDULER, Rendered, Workload

TIMEOUT_SLACK_SECONDS = 60  # the Job's own time limit shall come first: it knows why
FORWARD = "-x"

_KEYS_MOUNT: JsonObject = {"name": "mpi-ssh-auth", "mountPath": ssh.RAW_KEYS_PATH, "readOnly": True}
_HOSTFILE_MOUNT: JsonObject = {"name": "mpi-hostfile", "mountPath": ssh.HOSTFILE_PATH, "readOnly": True}
_SSH_VOLUME: JsonObject = {"name": "ssh-keys", "emptyDir": {}}
_SSH_MOUNT: JsonObject = {"name": "ssh-keys", "mountPath": ssh.SSH_PATH}
RESERVED_VOLUMES = ("mpi-ssh-auth", "mpi-hostfile", "ssh-keys")

LAUNCHER_INIT_NAME = "fix-ssh-permissions"
LAUNCHER_RESOURCES: JsonObject = {"limits": {"cpu": "2", "memory": "1Gi"}}
"""Of both containers: a quota of CPU or memory refuses pods of which one has none, and a pod needs only the larger."""
WORKER_CAPABILITIES = ("IPC_LOCK", "SYS_CHROOT")  # RDMA pins memory; sshd changes its root for each session


def render(workload: Workload) -> Rendered:
    """Render launcher and workers, workers first."""
    mpi = workload.framework.mpi
    assert mpi is not None  # noqa: S101 - the registry chose by this
    policy = {
        "numNodes": 1,  # the launcher's: workers are counted by the TrainJob's trainer.numNodes
        "mpi": {
            "mpiImplementation": "OpenMPI",
            "numProcPerNode": workload.gpus,
            "sshAuthMountPath": ssh.RAW_KEYS_PATH,
        },
    }
    job_set = {
        "network": {"publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [LAUNCHER]},
        "replicatedJobs": [_worker(workload), _launcher(workload)],
    }
    return Rendered(
        runtime_spec={"mlPolicy": policy, "template": {"spec": job_set}},
        replicated_jobs=(WORKER, LAUNCHER),
        command=("timeout", str(workload.timeout_seconds + TIMEOUT_SLACK_SECONDS), mpi.mpirun_path),
        args=tuple(_mpirun_args(workload, mpi.mpi_args or (), (mpi.binary, *(mpi.args or ())))),
    )


def _worker(workload: Workload) -> JsonObject:
    container: JsonObject = {
        "name": WORKER,
        "image": workload.image,
        "env": _env(workload),
        "command": ["sh", "-c"],
        "args": [ssh.WORKER_START],
        "readinessProbe": ssh.readiness_probe(),
        "securityContext": {"capabilities": {"add": list(WORKER_CAPABILITIES)}},
        "resources": worker_resources(workload.resources, workload.gpus),
        "volumeMounts": mounts(workload, [_KEYS_MOUNT, SHARED_MEMORY_MOUNT]),
    }
    pod_spec: JsonObject = {
        **init_containers(workload.init_containers),
        "containers": [container],
        "volumes": volumes(workload, [SHARED_MEMORY]),
    }
    return replicated_job(WORKER, pod_spec, workload.gang, pods=workload.nodes, ancestor=False)


def _launcher(workload: Workload) -> JsonObject:
    """Render the launcher; it starts once the workers are ready, except under KAI, and waits for them in any case.

    KAI admits no gang of which a part does not exist yet. The wait is bounded and names who is silent; it also meets
    names that are not published yet when the gate opens. An init container that asks for devices is the workers' alone:
    the launcher has none, and would wait for those that its own workers hold.
    """
    keys_and_wait: JsonObject = {
        "name": LAUNCHER_INIT_NAME,
        "image": workload.image,
        "command": ["sh", "-c"],
        "args": [ssh.LAUNCHER_INIT],
        "resources": LAUNCHER_RESOURCES,
        "volumeMounts": [_KEYS_MOUNT, _SSH_MOUNT, _HOSTFILE_MOUNT],
    }
    container: JsonObject = {
        "name": WORKER,  # Trainer looks for a container of this name
        "image": workload.image,
        "env": _env(workload),
        "resources": LAUNCHER_RESOURCES,
        "volumeMounts": mounts(workload, [_KEYS_MOUNT, _SSH_MOUNT]),
    }
    checks = [one for one in workload.init_containers if not asks_for_devices(one)]
    pod_spec: JsonObject = {
        **init_containers([*checks, keys_and_wait]),
        "containers": [container],
        "volumes": volumes(workload, [SHARED_MEMORY, _SSH_VOLUME]),
    }
    gated = workload.gang is None or workload.gang.scheduler_name != KAI_SCHEDULER
    depends_on = WORKER if gated else ""
    return replicated_job(LAUNCHER, pod_spec, workload.gang, pods=1, ancestor=True, depends_on=depends_on)


def _env(workload: Workload) -> list[JsonObject]:
    return merge_env(base_env(mnnvl=workload.mnnvl), workload.user_env)


def _mpirun_args(workload: Workload, user_args: Sequence[str], program: Sequence[str]) -> Iterator[str]:
    """Yield mpirun's arguments: ssh would strip the environment, so every variable is forwarded by ``-x``, once.

    The user's own ``-x`` wins over spec.env, spec.env over the platform's ``-x``, that over what NCCL gets everywhere.
    """
    yield from ("-N", str(workload.gpus), "--allow-run-as-root", "--mca", "plm_rsh_args")
    yield "-o StrictHostKeyChecking=no -o ConnectionAttempts=10"
    taken = _forwarded_names(user_args)
    platform_args = list(_platform_args(workload, taken))
    taken |= _forwarded_names(platform_args)
    for variable in _env(workload):
        if variable["name"] not in taken:
            yield from (FORWARD, _operand(variable))
    yield from platform_args
    yield from user_args
    yield from program


def _platform_args(workload: Workload, taken: set[str]) -> Iterator[str]:
    """Yield the platform's arguments; the user's value of a variable stands in place of the platform's."""
    own = {variable["name"]: variable for variable in workload.user_env}
    seen = set(taken)
    arguments = iter(workload.platform_mpi_args)
    for argument in arguments:
        if argument != FORWARD:
            yield argument
            continue
        operand = next(arguments, "")
        name = operand.partition("=")[0]
        if name not in seen:
            seen.add(name)
            yield from (FORWARD, _operand(own[name]) if name in own else operand)


def _operand(variable: JsonObject) -> str:
    """Write a variable for ``-x``: with its value, or bare where the launcher's own environment has it."""
    return variable["name"] if "valueFrom" in variable else f"{variable['name']}={variable.get('value', '')}"


def _forwarded_names(arguments: Iterable[str]) -> set[str]:
    listed = list(arguments)
    pairs = pairwise(listed)
    return {operand.partition("=")[0] for option, operand in pairs if option == FORWARD}
