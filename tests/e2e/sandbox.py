"""Runs a command where nothing of it can stay behind: processes, mounts and networks end with it, whatever happens.

The command gets a PID, a mount and a network namespace of its own, with loopback and no way out. What namespaces do not
take along is taken back here: control groups, and settings of the kernel that a kubelet changes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.build import cache_folder

FOLDER = "WORKLOADRUN_E2E_FOLDER"
"""Variable that tells the command its run folder, an empty one that is removed afterwards."""
GROUP = "WORKLOADRUN_E2E_GROUP"
"""Variable that tells the command its control group, relative to the root of each hierarchy."""
KEEP = "E2E_KEEP"
"""Variable of a person who wants to see the run folder of a run that passed."""

GROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids", "hugetlb")
KERNEL = Path("/proc/sys")
CHANGED_BY_KUBELETS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")
PREFIX = "workloadrun-e2e-"
GONE_SECONDS = 10.0

_APART = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
_INSIDE = 'ip link set lo up && "$@"; exit $?'  # the shell stays process 1, the command may end as it likes


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command in namespaces of its own and return its exit code.

    The run folder of one that fails stays until the next run: it holds the log of every component.
    """
    sweep()
    name = f"{PREFIX}{os.getpid()}-{time.time_ns()}"
    folder = runs() / name
    folder.mkdir(parents=True)
    own = {**environment, FOLDER: str(folder), GROUP: name}
    with _kernel_settings_kept(), _control_groups(name):
        inside = [*_APART, "--mount-proc", "sh", "-c", _INSIDE, "sh", *command]
        code = _wait(subprocess.Popen(inside, env=own, stdin=subprocess.DEVNULL))
    if code or environment.get(KEEP):
        print(f"until the next run, the logs of all components are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def runs() -> Path:
    """Return the folder of all run folders."""
    return cache_folder() / "e2e" / "runs"


def sweep() -> None:
    """Remove what runs have left whose own removal was cut short, or that were kept for somebody to see."""
    for folder in runs().glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", pid).exists():
            _remove_groups(folder.name)
            shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; an interrupt typed at the terminal reaches the command too, which then ends by itself."""
    before = signal.signal(signal.SIGTERM, lambda *_: process.kill())
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _kernel_settings_kept() -> Iterator[None]:
    before = {name: (KERNEL / name).read_text() for name in CHANGED_BY_KUBELETS}
    try:
        yield
    finally:
        for name, value in before.items():
            if (KERNEL / name).read_text() != value:
                (KERNEL / name).write_text(value)


@contextmanager
def _control_groups(name: str) -> Iterator[None]:
    """Make a control group in every hierarchy, so that no kubelet clears away what it does not know."""
    for group in _groups(name):
        group.mkdir()
        _open(group)
    try:
        yield
    finally:
        _remove_groups(name)


def make_group(path: str) -> None:
    """Make a group below the run's own, in every hierarchy."""
    for group in _groups(path):
        group.mkdir()
        _open(group)


def _groups(path: str) -> list[Path]:
    """Return the folders of a group: one under version 2, one a hierarchy under version 1."""
    if (GROUPS / "cgroup.controllers").exists():
        return [GROUPS / path]
    roots = {root.resolve() for root in GROUPS.iterdir() if (root / "cgroup.procs").exists()}
    return [root / path for root in sorted(roots)]


def _open(group: Path) -> None:
    """Let groups below have controllers (version 2), or processors and memory (version 1)."""
    if (group / "cgroup.subtree_control").exists():
        offered = (group / "cgroup.controllers").read_text().split() if (group / "cgroup.controllers").exists() else []
        wanted = " ".join(f"+{name}" for name in CONTROLLERS if name in offered)
        (group / "cgroup.subtree_control").write_text(wanted)
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (group / name).exists() and not (group / "cgroup.subtree_control").exists():
            (group / name).write_text((group.parent / name).read_text())


def _remove_groups(name: str) -> None:
    """Remove a group with all below it; a group whose last process has just ended may need a moment."""
    deadline = time.monotonic() + GONE_SECONDS
    while True:
        left = [group for group in _groups(name) if group.exists() and not _removed(group)]
        if not left or time.monotonic() > deadline:
            return
        time.sleep(0.1)


def _removed(group: Path) -> bool:
    try:
        for path, _, _ in os.walk(group, topdown=False):
            Path(path).rmdir()
    except OSError:
        return False
    return True
