"""Start and stop the processes of one control plane, each known by a pid file in its run folder.

Ends only what it started: a pid counts as ours while its command line names the run folder, never by a program's name.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PORTS = range(20_000, 32_000)  # below the range that outgoing connections take their ports from


class StartFailed(Exception):
    """A component ended or did not answer in time; the text ends with the tail of its log."""


def start(run: Path, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Start a component in its own session, logging to ``<name>.log``; its command must name the run folder."""
    assert any(str(run) in word for word in command), f"{name} could not be told from others' processes"
    with (run / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            list(command),
            cwd=run,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # an interrupt typed at a terminal is for the test run, which then stops us
        )
    (run / f"{name}.pid").write_text(str(process.pid))
    _children[process.pid] = process


def stop(run: Path, names: Sequence[str], grace: float = 5.0) -> None:
    """Stop these components together: SIGTERM, and after ``grace`` seconds SIGKILL. Those not running are skipped."""
    pids = {name: pid for name in names if (pid := running(run, name))}
    for pid in pids.values():
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(running(run, name) for name in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    for name, pid in pids.items():
        if running(run, name):
            _signal(pid, signal.SIGKILL)
    for name in names:
        (run / f"{name}.pid").unlink(missing_ok=True)


def kill(run: Path, name: str) -> None:
    """End a component and all that it started with SIGKILL, and wait until it is gone."""
    pid = running(run, name)
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # it leads a session of its own, so this is nobody else's group
    while running(run, name):
        time.sleep(0.01)


def running(run: Path, name: str) -> int | None:
    """Return the pid of a component that runs, None where it does not (any more)."""
    try:
        pid = int((run / f"{name}.pid").read_text())
    except (FileNotFoundError, ValueError):
        return None
    if child := _children.get(pid):
        return pid if child.poll() is None else None
    return pid if str(run) in _command_line(pid) else None


def wait_until(check: Callable[[], bool], run: Path, name: str, seconds: float = 60.0) -> None:
    """Wait for a component to be ready. Raises StartFailed with its log where it ends or the time is over."""
    deadline = time.monotonic() + seconds
    while not check():
        if not running(run, name):
            raise StartFailed(f"{name} ended while starting:\n{log_tail(run, name)}")
        if time.monotonic() > deadline:
            raise StartFailed(f"{name} was not ready after {seconds:.0f} s:\n{log_tail(run, name)}")
        time.sleep(0.05)


def listens(address: str, port: int) -> bool:
    """Tell whether something accepts connections there."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((address, port)) == 0


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Return different ports that nothing listens on now."""
    found: list[int] = []
    candidates = iter(random.sample(PORTS, len(PORTS)))
    while len(found) < count:
        port = next(candidates)
        with socket.socket() as server, contextlib.suppress(OSError):
            server.bind((address, port))
            found.append(port)
    return found


def log_tail(run: Path, name: str, lines: int = 20) -> str:
    """Return the last lines of a component's log."""
    try:
        return "\n".join((run / f"{name}.log").read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log)"


_children: dict[int, subprocess.Popen[bytes]] = {}


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _command_line(pid: int) -> str:
    """Return a process' command line, empty where there is none (gone, or ended and not yet waited for)."""
    if Path("/proc/self/cmdline").exists():
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout
