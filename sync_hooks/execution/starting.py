"""Containers that a runtime could not start: for want of their program, which is the image's or the run's own fault.

Whatever else keeps a container from starting (devices, hooks of the GPU's runtime, mounts) is no matter of this module.
"""

from __future__ import annotations

import re

from sync_hooks.api.observed import Pod

NOT_STARTED = ("StartError", "ContainerCannotRun")  # containerd's word with exit code 128, and Docker's

# runc names the program it was to run; a node's own runtime may be missing in the same words, behind other ones.
_NO_PROGRAM = re.compile(
    r'exec: \\?"[^"]*": (?:stat [^:]*: )?'
    r"(?:executable file not found|no such file or directory|permission denied|is a directory|exec format error)"
)
_CRUN_NO_PROGRAM = re.compile(r"executable file `[^`]*` not found")
_THE_NODES = re.compile(
    r"unable to retrieve OCI runtime error|error running hook|fork/exec"
    r'|nvidia-container|exec: \\?"(?:/usr/bin/)?nvidia-'  # its GPU runtime brings them into every container
)


def lacks_program(message: str) -> bool:
    """Tell whether a container runtime says that the container's program is not there, or cannot be run.

    Not where the program is the node's own: its container runtime, a hook, or what the GPU's runtime mounts.
    """
    if _THE_NODES.search(message):
        return False
    return bool(_NO_PROGRAM.search(message) or _CRUN_NO_PROGRAM.search(message))


def has_run(pod: Pod) -> bool:
    """Tell whether a container of a pod has been started, whatever became of it; init containers do not count."""
    states = [status.state for status in pod.status.container_statuses]
    ended = [state.terminated for state in states if state.terminated is not None]
    return any(state.running for state in states) or any(end.reason not in NOT_STARTED for end in ended)
