"""What a GoodputMeasurement remembers between samples: the current attempt, and the sums over those before it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.model import ApiModel, Bool, Float, Int32, Int64, Timestamp

MicroTimestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339, UTC, microseconds: `clock.rfc3339_micro` writes it."""


class PendingSave(ApiModel):
    """A checkpoint save that has begun."""

    step: Int64 | None = None
    """Step that is saved, where the log says."""
    time: MicroTimestamp | None = None
    """When it began."""


class Anew(ApiModel):
    """A sign that the workload began anew inside its container; the next step shows whether it did."""

    time: MicroTimestamp
    """When the first such line was printed."""
    restored: Bool | None = None
    """A checkpoint was loaded; else only another start was printed, which a framework may do at any time."""


class StepSums(ApiModel):
    """Sums over training steps, from which the averages are made."""

    lines: Int32 = 0
    """Lines of training steps, warm-up left out."""
    timing_sec: Float = 0
    """Sum of the printed times of one step, warm-up left out."""
    timings: Int32 = 0
    """How many there are."""
    tflops: Float = 0
    """Sum of the printed TFLOP/s per GPU, warm-up left out."""
    tflops_lines: Int32 = 0
    """How many there are."""
    gap_sec: Float = 0
    """Time between first and last step, warm-up left out."""
    gap_steps: Int64 = 0
    """Steps between the two."""
    warmup_sec: Float = 0
    """Time of the warm-up steps: printed time of one step, times the steps that the line stands for."""
    non_warmup_sec: Float = 0
    """Time of the other steps, likewise."""


class GoodputRun(ApiModel):
    """One attempt of the workload: what its log has shown so far."""

    workload_uid: str = Field(alias="workloadUID")
    """UID of the attempt's TrainJob."""
    restart: Int32 | None = None
    """Number of the JobSet's restart, where there was one: it is an attempt of its own."""
    pods: list[str] | None = None
    """Pods whose logs are read. Others of the same attempt begin from nothing: the workload was suspended, or made
    anew."""
    lifecycle_cursor: LogCursor = LogCursor()
    """How far the log with starts, saves and restores has been read."""
    step_cursor: LogCursor | None = None
    """How far the log with the training steps has been read, where that is another pod's."""
    gaps: Int32 | None = None
    """How often lines were gone before they could be read."""
    late_sec: Int32 | None = None
    """How many seconds a log begins later than its container: lines before it may have been lost. Absent for less than
    a minute."""
    off_interval: Int32 | None = None
    """Lines of training steps that did not count: their number is no multiple of the LogProfile's logInterval."""
    unnumbered: Int32 | None = None
    """Lines of training steps that did not count: they have no number above 0."""
    anew: Anew | None = None
    """The workload may have begun anew since its last step."""
    finished: Bool | None = None
    """The attempt has ended, and its logs have been read to their end."""
    end_time: MicroTimestamp | None = None
    """When the attempt ended; without it, its last line counts as its end."""
    first_line_time: MicroTimestamp | None = None
    """First line of the log."""
    last_line_time: MicroTimestamp | None = None
    """Last line of the logs."""
    application_start_time: MicroTimestamp | None = None
    """When the framework was up."""
    first_step: Int64 | None = None
    """First training step."""
    first_step_time: MicroTimestamp | None = None
    """When it was finished."""
    last_step: Int64 | None = None
    """Last training step."""
    last_step_time: MicroTimestamp | None = None
    """When the last training step that is no warm-up was finished."""
    step_seen_time: Timestamp | None = None
    """When a sample first showed the last training step, by the clock of the samples: stalls are counted by it alone,
    since the clocks of nodes differ from it."""
    highest_step: Int64 | None = None
    """Highest training step."""
    warmup_base_step: Int64 | None = None
    """First step after the start or the latest restore: warm-up counts from it."""
    steady_step: Int64 | None = None
    """First step that is no warm-up."""
    steady_step_time: MicroTimestamp | None = None
    """When it was finished."""
    last_steady_step: Int64 | None = None
    """Last step that is no warm-up."""
    sums: StepSums = StepSums()
    """Sums over the steps."""
    pending_save: PendingSave | None = None
    """A save that has begun and not ended."""
    checkpoint_step: Int64 | None = None
    """Step of the last checkpoint."""
    checkpoint_time: MicroTimestamp | None = None
    """When the last checkpoint was saved."""
    save_sec: Float = 0
    """Time spent in saves."""


class EarlierRuns(ApiModel):
    """Runs that were interrupted before the current one, summed up when each was over.

    They are earlier attempts, and what ran in the container of the current one before the workload began anew there.
    """

    training_start_time: MicroTimestamp | None = None
    """When training time began to count."""
    end_time: MicroTimestamp | None = None
    """When the last of them ended."""
    interruptions: Int32 = 0
    """Times that training was interrupted: by the end of an attempt, or inside its container."""
    replaced: Int32 | None = None
    """How often what pods had shown was set aside, because others took their place in the same attempt."""
    gaps: Int32 | None = None
    """How often lines were gone before they could be read."""
    late_sec: Int32 | None = None
    """How many seconds a log began later than its container, the most of all attempts."""
    off_interval: Int32 | None = None
    """Lines of training steps whose number is no multiple of logInterval."""
    unnumbered: Int32 | None = None
    """Lines of training steps without a number above 0."""
    lost_work_sec: Float = 0
    """Work lost in interruptions."""
    reschedule_sec: Float = 0
    """Time between attempts."""
    resume_sec: Float = 0
    """Time from the attempts' starts to their first steps."""
    save_sec: Float = 0
    """Time spent in saves."""
    highest_step: Int64 | None = None
    """Highest training step."""
    checkpoint_step: Int64 | None = None
    """Step of the last checkpoint."""
    checkpoint_time: MicroTimestamp | None = None
    """When the last checkpoint was saved."""
    sums: StepSums = StepSums()
    """Sums over the steps."""
