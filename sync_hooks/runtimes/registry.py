"""Which module renders which framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sync_hooks.runtimes import command, mpi, torch
from sync_hooks.runtimes.workload import Rendered, Workload

RUNTIMES: Mapping[str, Callable[[Workload], Rendered]] = {
    "torch": torch.render,
    "mpi": mpi.render,
    "exec": command.render,
}
