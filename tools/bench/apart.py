"""Measurements in a process of their own, where peak memory is a question: a process never gives its peak back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from .machine import ROOT

Result = TypeVar("Result")


def in_own_process(module: str, arguments: Sequence[object], type_: type[Result]) -> Result:
    """Run a module as a program and read the JSON that it prints. Raises RuntimeError with what it said instead."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} ended with {done.returncode}: {done.stderr[-4000:]}")
    return msgspec.json.decode(done.stdout, type=type_)
