"""The LogProfile: how one kind of workload writes its log. Cluster-scoped data without a status."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sync_hooks.api.model import ApiModel, Int32

Unit = Annotated[str, Field(pattern="^(s|ms|us)$")]


class TimestampFormat(ApiModel):
    """How the log writes its own times."""

    layout: str = Field(min_length=1, max_length=128)
    """Go reference-time layout of what the patterns capture as `timestamp`, for example 2006-01-02 15:04:05. A fraction
    of a second may follow the seconds in any case. A missing year or date is taken from the kubelet's timestamp; a
    missing zone too: it is the one in use anywhere that makes the line the least older than the kubelet's timestamp."""


class EventPattern(ApiModel):
    """One kind of line."""

    regex: str = Field(min_length=1, max_length=2048)
    """RE2 expression with named groups, `(?P<name>...)`, searched anywhere in a line. A line is what the application
    wrote: `^` and `$` are its ends. The kubelet's timestamp in front of it, a carriage return behind it and colour
    codes within it are not part of it, and no expression reaches across lines. `\\A` and `\\z` are refused."""
    example: str | None = Field(default=None, max_length=4096)
    """A line that the expression must match; checked whenever the profile is compiled."""
    units: dict[str, Unit] | None = None
    """Unit of captured durations by group name (stepTiming, elapsedTime, saveDuration): s (default), ms or us."""


class Patterns(ApiModel):
    """The kinds of lines a log may have. Groups that a pattern does not name are not read."""

    training_step: EventPattern | None = None
    """A finished training step. Groups: globalStep or iteration (one is required), timestamp, stepTiming or elapsedTime
    (time of one step), tflops."""
    checkpoint_save: EventPattern | None = None
    """A checkpoint save begins, or has been done in one go where saveDuration is captured. Groups: timestamp, step,
    path, saveDuration."""
    checkpoint_done: EventPattern | None = None
    """A checkpoint save has ended and training goes on. Groups: timestamp, step, path, saveDuration."""
    checkpoint_restore: EventPattern | None = None
    """A checkpoint is about to be loaded. Groups: timestamp, step, path."""
    checkpoint_loaded: EventPattern | None = None
    """A checkpoint has been loaded. Groups: timestamp, step, path."""
    application_start: EventPattern | None = None
    """The framework is up; the first match counts. Groups: timestamp."""
    warmup_step: EventPattern | None = None
    """Marks a training step, on the same line, as warm-up. No groups."""
    bandwidth_result: EventPattern | None = None
    """A row of a bandwidth table. Groups: size (bytes), algBW and busBW (GB/s), all required. Wrong counts are read
    from what follows on the line."""
    network_transport: EventPattern | None = None
    """Names the network that NCCL uses. Groups: transport (required)."""


class WorkerStrategy(ApiModel):
    """Which pods' logs are read."""

    type: str = Field(pattern="^(Single|Multi)$")
    """Single reads everything from the first pod, Multi reads lifecycle and training steps from a pod each."""
    lifecycle_pod: str | None = Field(default=None, pattern="^(first|last)$")
    """With Multi: pod that prints starts, saves and restores (default first)."""
    training_step_pod: str | None = Field(default=None, pattern="^(first|last)$")
    """With Multi: pod that prints training steps (default first). Megatron prints them on the last."""
    replicated_job_name: str | None = Field(default=None, max_length=63)
    """JobSet replicatedJob whose pods are read; unset means the one labelled
    trainer.kubeflow.org/trainjob-ancestor-step=trainer: the launcher under MPI, the nodes otherwise."""


class LogProfileSpec(ApiModel):
    """How one kind of workload writes its log. An edit takes effect with the next sample."""

    timestamp: TimestampFormat
    """How the log writes its own times."""
    patterns: Patterns
    """Lines that mean something."""
    worker_strategy: WorkerStrategy | None = None
    """Which pods' logs are read (default: Single)."""
    container_name: str | None = Field(default=None, max_length=63)
    """Container whose log is read; unset means the pod's only container, else the one named node, else the first."""
    warmup_steps: Annotated[Int32, Field(ge=0)] | None = None
    """Steps at the start of every attempt, and after every restore, that averages leave out (default 0)."""
    log_interval: Annotated[Int32, Field(ge=1)] | None = None
    """Steps between two training-step lines (default 1). Lines of other steps are ignored: they cover fewer steps."""
