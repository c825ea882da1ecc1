"""Containers that a runtime could not start for want of their program or of memory: the image's or the run's own fault.

Whatever else keeps a container from starting (devices, hooks of the GPU's runtime, mounts) is no matter of this module.
"""

from __future__ import annotations

import re

from sync_hooks.api.observed import ContainerStatus, Pod
from sync_hooks.api.trainer import WORKER

NOT_STARTED = ("StartError", "ContainerCannotRun")  # containerd's word with exit code 128, and Docker's

# runc names the program it was to run; a node's own runtime may be missing in the same words, behind other ones.
_NO_PROGRAM = re.compile(
    r'exec: \\?"[^"]*": (?:stat [^:]*: )?'
    r"(?:executable file not found|no such file or directory|permission denied|is a directory|exec format error)"
)
_CRUN_NO_PROGRAM = re.compile(r"executable file `[^`]*` not found")
_TOO_LITTLE_MEMORY = re.compile(r"memory limit too low")  # runc's guess where its own start was killed for it
_THE_NODES = re.compile(
    r"unable to retrieve OCI runtime error|error running hook|fork/exec"
    r'|nvidia-container|exec: \\?"(?:/usr/bin/)?nvidia-'  # its GPU runtime brings them into every container
)


def can_start_nowhere(message: str) -> bool:
    """Tell whether a container runtime says that the program is not there or cannot be run, or has too little memory.

    Not where the program is the node's own: its container runtime, a hook, or what the GPU's runtime mounts.
    """
    if _THE_NODES.search(message):
        return False
    return any(known.search(message) for known in (_NO_PROGRAM, _CRUN_NO_PROGRAM, _TOO_LITTLE_MEMORY))


def statuses(pod: Pod) -> tuple[ContainerStatus, ...]:
    """Return the status of every container of a pod, init containers and sidecars first."""
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


def main_container(pod: Pod) -> str:
    """Return the container that runs the workload: Trainer's where there is one, else the first; never a sidecar."""
    names = [container.name for container in pod.spec.containers] or [
        item.name for item in pod.status.container_statuses
    ]
    return WORKER if WORKER in names else next(iter(names), "")


def main_status(pod: Pod) -> ContainerStatus:
    """Return the status of the container that runs the workload, an empty one where there is none yet."""
    name = main_container(pod)
    return next((item for item in pod.status.container_statuses if item.name == name), ContainerStatus())


def has_run(pod: Pod) -> bool:
    """Tell whether the workload of a pod was started, whatever became of it; no init container or sidecar counts."""
    state = main_status(pod).state
    return state.running is not None or (state.terminated is not None and state.terminated.reason not in NOT_STARTED)
