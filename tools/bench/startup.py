"""What it costs to start: CPU of commands beside a Python that loads what they stand on; CPU and memory of roles."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping

from tests.cluster.pki import create_authority

from . import servers
from .machine import ROOT
from .reviews import EXAMPLE
from .rounds import alternate, cpu_of_command
from .row import Row, Target, below, compared

COMMANDS = {
    "workloadrun --help": ("--help",),
    "workloadrun validate of the documented example": ("validate", str(EXAMPLE)),
    "workloadrun validate of an example with embedded core types": (
        "validate",
        str(ROOT / "examples" / "torch-checkpoints.yaml"),
    ),
}
LIMITS = dict(zip(COMMANDS, (0.4, 0.4, 1.0), strict=True))
"""CPU seconds, imports included."""
REFERENCE = "python importing click, pydantic, yaml"
ROLES = {"product": "admission", "hooks": "hooks"}
NAIVE = "naive"
START_SECONDS, IDLE_MEBIBYTES = 2.0, 120.0
SETTLE_SECONDS = 2.0
"""Idle means that a server has had time to finish starting."""


def rows() -> list[Row]:
    """Measure the commands in turns with the reference, then the memory of idle servers."""
    return [*_commands(), *_idle()]


def _commands() -> list[Row]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parties = {
        name: cpu_of_command([sys.executable, "-m", "cli.main", *words], environment)
        for name, words in COMMANDS.items()
    }
    parties[REFERENCE] = cpu_of_command([sys.executable, "-c", "import click, pydantic, yaml"], environment)
    measured = alternate(parties)
    return [
        compared(
            name,
            measured.median(name),
            "s CPU",
            REFERENCE,
            measured.median(REFERENCE),
            measured.ratio(name, REFERENCE),
            below(LIMITS[name]),
        )
        for name in COMMANDS
    ]


def _idle() -> list[Row]:
    """Measure idle servers: the CPU until they were ready, and the memory that they then have.

    They are started once before: the first start compiles what it imports.
    """
    _started()
    started, memory = _started()
    return [
        row
        for name, role in ROLES.items()
        for row in (
            _against_naive(f"CPU of {role} until it is ready", started, name, "s CPU", below(START_SECONDS)),
            _against_naive(f"memory of an idle {role} replica", memory, name, "MiB", below(IDLE_MEBIBYTES)),
        )
    ]


def _started() -> tuple[dict[str, float], dict[str, float]]:
    with servers.folder() as run:
        authority, nowhere = create_authority(run / "pki"), servers.kubeconfig(run, 9)  # asked for by no idle server
        with (
            servers.product(run, authority),
            servers.hooks(run, authority, "token", nowhere),
            servers.naive(run, authority),
        ):
            time.sleep(SETTLE_SECONDS)
            names = (*ROLES, NAIVE)
            started = {name: servers.cpu_seconds(run, name) for name in names}
            return started, {name: servers.memory(run, name) for name in names}


def _against_naive(what: str, found: Mapping[str, float], name: str, unit: str, target: Target) -> Row:
    own, other = found[name], found[NAIVE]
    return compared(what, own, unit, "naive Flask and pydantic", other, own / other, target)
