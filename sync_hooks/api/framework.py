"""The three ways to start a workload."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from sync_hooks.api.limits import ONE_OF_SCRIPT_AND_MODULE, with_rules
from sync_hooks.api.model import ApiModel


class Torch(ApiModel):
    """PyTorch under torchrun. Exactly one of script and module is given."""

    model_config = ConfigDict(json_schema_extra=with_rules(ONE_OF_SCRIPT_AND_MODULE))

    script: str | None = Field(default=None, min_length=1)
    """Path of the script in the image."""
    module: str | None = Field(default=None, min_length=1)
    """Python module to run instead of a script."""
    args: list[str] | None = None
    """Arguments of the script or module."""


class Mpi(ApiModel):
    """Open MPI: a launcher runs mpirun, workers run sshd."""

    binary: str = Field(min_length=1)
    """Program that mpirun starts on every rank."""
    args: list[str] | None = None
    """Arguments of the program."""
    mpi_args: list[str] | None = None
    """Additional arguments of mpirun."""
    mpi_implementation: str | None = Field(default=None, pattern="^(OpenMPI)$")
    """MPI implementation; only OpenMPI is supported."""
    mpirun_path: str = Field(min_length=1)
    """Path of mpirun in the image."""


class Exec(ApiModel):
    """An arbitrary command, started on every node of the group."""

    command: list[str] = Field(min_length=1)
    """Command and its first arguments."""
    args: list[str] | None = None
    """Further arguments."""


class Framework(ApiModel):
    """Exactly one of torch, mpi and exec."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    torch: Torch | None = None
    """PyTorch under torchrun."""
    mpi: Mpi | None = None
    """Open MPI."""
    exec: Exec | None = None
    """An arbitrary command."""

    @property
    def kind(self) -> str:
        """Name of the framework that is set: torch, mpi or exec; empty when none is."""
        return next((name for name in ("torch", "mpi", "exec") if getattr(self, name) is not None), "")
