"""The servers that are measured, on loopback, each stopped by its own pid when its context ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cluster import build, controlplane, processes
from tests.cluster.pki import Authority

from .machine import ROOT

ADDRESS = "127.0.0.1"
START_SECONDS = 900
"""A control plane is there after 12 s on an idle machine, and after minutes on one that does much else."""
GUNICORN = (sys.executable, "-m", "gunicorn")


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder for certificates, logs and pid files."""
    with tempfile.TemporaryDirectory(prefix="workloadrun-bench-") as made:
        yield Path(made)


@contextmanager
def product(run: Path, authority: Authority, name: str = "product") -> Iterator[int]:
    """Serve the product's admission as its image does, and give its port."""
    with _role("admission", name, run, authority, {}) as port:
        yield port


@contextmanager
def hooks(run: Path, authority: Authority, token: str, kubeconfig: str) -> Iterator[int]:
    """Serve the product's hooks as its image does, reading from the API server of a kubeconfig, and give its port."""
    (run / "tokens").write_text(f"{token}\n")
    environment = {"WORKLOADRUN_TOKEN_FILE": str(run / "tokens"), "KUBECONFIG": kubeconfig}
    with _role("hooks", "hooks", run, authority, environment) as port:
        yield port


@contextmanager
def _role(role: str, name: str, run: Path, authority: Authority, more: Mapping[str, str]) -> Iterator[int]:
    port, health = processes.free_ports(2)
    authority.issue("tls", "workloadrun", hosts=[ADDRESS], folder=run)
    environment = {
        "WORKLOADRUN_ROLE": role,
        "WORKLOADRUN_PORT": str(port),
        "WORKLOADRUN_HEALTH_PORT": str(health),
        "WORKLOADRUN_TLS_DIR": str(run),
        **more,
    }
    command = [*GUNICORN, "--config", "python:webhook.gunicorn_conf", "--pid", str(run / f"{name}-gunicorn.pid")]
    with _serving(run, name, command, environment, health):
        yield port


@contextmanager
def naive(run: Path, authority: Authority) -> Iterator[int]:
    """Serve the naive reference with gunicorn's threads and TLS, as the product is served."""
    (port,) = processes.free_ports(1)
    identity = authority.issue("naive", "naive", hosts=[ADDRESS], folder=run)
    options = {
        "bind": f"{ADDRESS}:{port}",
        "worker-class": "gthread",
        "threads": "64",
        "keep-alive": "75",
        "certfile": str(identity.certificate),
        "keyfile": str(identity.key),
    }
    command = [*GUNICORN, *(f"--{name}={value}" for name, value in options.items()), "tools.bench.naive:app"]
    with _serving(run, "naive", command, {}, port):
        yield port


@contextmanager
def _serving(run: Path, name: str, command: Sequence[str], environment: Mapping[str, str], port: int) -> Iterator[None]:
    try:
        processes.start(run, name, command, {"PYTHONPATH": str(ROOT), **environment})
        processes.wait_until(lambda: processes.listens(ADDRESS, port), run, name)
        yield
    finally:
        processes.stop(run, (name,), grace=15)


def kubeconfig(folder: Path, port: int) -> str:
    """Write credentials for an API server on loopback that asks for none."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": f"http://{ADDRESS}:{port}"}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "nobody"}}],
        "current-context": "local",
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return str(file)


@contextmanager
def control_plane() -> Iterator[Path]:
    """Hold a real control plane with Trainer up, and give its run folder. Raises RuntimeError where it never comes."""
    run = build.cache_folder() / "runs" / f"bench-{os.getpid()}"
    command = [sys.executable, "-m", "tests.cluster.controlplane", "serve", str(run)]
    run.mkdir(parents=True)
    server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True)
    try:
        _wait_until_ready(server, run)
        yield run
    finally:
        server.communicate()
        controlplane.sweep(run.parent)


def _wait_until_ready(server: subprocess.Popen[bytes], run: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not (run / controlplane.READY).exists():
        if server.poll() is not None or time.monotonic() > deadline:
            error = run / "error"
            raise RuntimeError(error.read_text() if error.exists() else "the control plane does not start")
        time.sleep(0.1)


def trainer_port(run: Path) -> int:
    """Return where Trainer's webhooks listen."""
    return int(yaml.safe_load((run / "trainer.yaml").read_text())["webhook"]["port"])


def memory(run: Path, name: str) -> float:
    """Return the memory of a server and its children in MiB, pages that they share counted once (Linux)."""
    pid = processes.running(run, name)
    if pid is None:
        raise RuntimeError(f"{name} does not run")
    pids = [pid, *_children(pid)]
    return sum(_proportional_kib(item) for item in pids) / 1024


def cpu_seconds(run: Path, name: str) -> float:
    """Return the CPU that a server and its children have used so far, user and system (Linux)."""
    pid = processes.running(run, name)
    if pid is None:
        raise RuntimeError(f"{name} does not run")
    return sum(_ticks(item) for item in [pid, *_children(pid)]) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """Return user and system time: fields 14 and 15, counted behind the name, which may hold anything."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _proportional_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
