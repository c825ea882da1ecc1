"""Both servers of the product as gunicorn runs them, on loopback, each from a folder with its certificate."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cluster import processes

ROOT = Path(__file__).parents[3]


@contextmanager
def serving(folder: Path, name: str, role: str, port: int, more: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a server until the context ends; ``folder`` holds tls.crt and tls.key, and gets its log."""
    [health] = processes.free_ports(1)
    environment = {
        "WORKLOADRUN_ROLE": role,
        "WORKLOADRUN_PORT": str(port),
        "WORKLOADRUN_HEALTH_PORT": str(health),
        "WORKLOADRUN_TLS_DIR": str(folder),
        "PYTHONPATH": str(ROOT),
        **(more or {}),
    }
    gunicorn = str(Path(sys.executable).with_name("gunicorn"))
    command = [gunicorn, "--config=python:webhook.gunicorn_conf", f"--pid={folder}/{name}.gunicorn"]
    processes.start(folder, name, command, environment)
    try:
        processes.wait_until(lambda: processes.listens("127.0.0.1", health), folder, name)
        yield
    finally:
        processes.stop(folder, [name], grace=15)
