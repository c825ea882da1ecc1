"""Where and when a run was measured, and of which commit; numbers without these say nothing."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine at one moment."""

    date: str
    """UTC, RFC 3339."""
    commit: str
    """Short hash, with ``+changes`` where the work tree differs; empty outside a repository."""
    processor: str
    cores: int
    system: str
    python: str
    load: float
    """Load average of the last minute before the run: well under `cores` on a machine that does nothing else."""

    def __str__(self) -> str:
        return (
            f"{self.date}, commit {self.commit or 'unknown'}\n{self.processor}, {self.cores} cores, {self.system}, "
            f"Python {self.python}; load before the run {self.load:.1f}"
        )


def describe() -> Machine:
    """Describe this machine now."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        commit=_commit(),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        load=round(os.getloadavg()[0], 2),
    )


def _commit() -> str:
    commit = _git("rev-parse", "--short", "HEAD")
    return f"{commit}+changes" if commit and _git("status", "--porcelain") else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    """Return the processor's name; Linux tells it in a file only."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
