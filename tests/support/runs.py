"""Specs of runs for tests: a plain command on groups of two nodes by default, changed by keywords."""

from __future__ import annotations

from typing import Any

from sync_hooks.api.workloadrun import WorkloadRunSpec

FRAMEWORKS: dict[str, dict[str, Any]] = {
    "torch": {"torch": {"script": "train.py"}},
    "mpi": {"mpi": {"binary": "/usr/bin/all_reduce_perf", "mpirunPath": "/usr/bin/mpirun"}},
    "exec": {"exec": {"command": ["dcgmi", "diag"]}},
}


def run_spec(framework: str = "exec", **fields: Any) -> WorkloadRunSpec:
    """Build a spec; keywords are fields of it as the API writes them."""
    given = {"image": "registry.example/image:1", "framework": FRAMEWORKS[framework], "numNodes": 2, **fields}
    return WorkloadRunSpec.model_validate(given)
