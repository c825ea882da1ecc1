"""What a Job was to run, read from its TrainJob: nodes, ranks, and whether one mpirun starts them all.

Refuses nothing: a Job may be written by hand, and what is not there is not known.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sync_hooks.api.job import JobSpec
from sync_hooks.api.observed import Facts
from sync_hooks.api.trainer import LAUNCHER
from sync_hooks.measurements.ranks import Planned


class _Named(Facts, frozen=True):
    name: str = ""


class _Spec(Facts, frozen=True):
    replicated_jobs: tuple[_Named, ...] = ()


class _Template(Facts, frozen=True):
    spec: _Spec = _Spec()


class _Runtime(Facts, frozen=True):
    template: _Template = _Template()


class _Patch(Facts, frozen=True):
    training_runtime_spec: _Runtime = _Runtime()


class _Trainer(Facts, frozen=True):
    num_nodes: int | None = None


class _TrainJob(Facts, frozen=True):
    trainer: _Trainer = _Trainer()
    runtime_patches: tuple[_Patch, ...] = ()


def planned(spec: JobSpec) -> Planned:
    """Return what was to run; Jobs of Open MPI are those that patch a launcher."""
    train_job = _read(spec.workload.train_job)
    patched = {
        job.name
        for patch in train_job.runtime_patches
        for job in patch.training_runtime_spec.template.spec.replicated_jobs
    }
    return Planned(train_job.trainer.num_nodes, spec.ranks, LAUNCHER in patched)


def _read(raw: Any) -> _TrainJob:
    try:
        return msgspec.convert(raw, _TrainJob)
    except msgspec.ValidationError:
        return _TrainJob()
