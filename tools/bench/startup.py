"""What it costs to start: CPU of commands, beside a Python that only loads what they stand on, and idle memory."""

from __future__ import annotations

import os
import sys
import time

from tests.cluster.pki import create_authority

from . import servers
from .machine import ROOT
from .reviews import EXAMPLE
from .rounds import alternate, cpu_of_command
from .row import Row, below, compared

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
SETTLE_SECONDS = 2.0
"""Idle means that a server has had time to finish starting."""


def rows() -> list[Row]:
    """Measure the commands in turns with the reference, then the memory of idle servers."""
    return [*_commands(), _idle()]


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


def _idle() -> Row:
    with servers.folder() as run:
        authority = create_authority(run / "pki")
        with servers.product(run, authority), servers.naive(run, authority):
            time.sleep(SETTLE_SECONDS)
            own, other = servers.memory(run, "product"), servers.memory(run, "naive")
    name = "memory of an idle admission replica"
    return compared(name, own, "MiB", "naive Flask and pydantic", other, own / other)
