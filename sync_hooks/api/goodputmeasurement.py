"""The GoodputMeasurement: which share of one Job's training time made progress that was kept, from its logs."""

from __future__ import annotations

from pydantic import Field

from sync_hooks.api.goodputrun import EarlierRuns, GoodputRun
from sync_hooks.api.model import (
    ApiModel,
    Condition,
    Duration,
    Float,
    Int32,
    Int64,
    Timestamp,
    TypedLocalObjectReference,
)


class GoodputMeasurementSpec(ApiModel):
    """Whose logs are read, and how."""

    job_ref: TypedLocalObjectReference
    """The Job that is measured."""
    log_profile_ref: str = Field(min_length=1, max_length=253)
    """Name of the LogProfile that understands the training log."""
    sample_interval: Duration | None = None
    """Time between two log reads (default 60s); less in the first minutes, so that short runs end soon. More than 2m is
    read as 2m: the end of a Job must be noticed while its pods still exist."""


class GoodputMeasurementStatus(ApiModel):
    """What was measured.

    The time from trainingStartTime on is divided, without gap or overlap, into the terms below: result =
    (trainingTimeSec - lostWorkTimeSec - resumeTimeSec - rescheduleTimeSec - checkpointSaveTimeSec) / (trainingTimeSec -
    rescheduleTimeSec). A workload that is suspended, by a queue or by hand, or whose JobSet is deleted and made again,
    begins from nothing: what it trained before does not count, nor does the time until it runs again.
    """

    conditions: list[Condition] | None = Field(default=None, json_schema_extra={"x-kubernetes-list-type": "map"})
    """Measuring: the Job runs and its logs are read. Complete: the result is final; its reason is JobSucceeded,
    JobFailed, NoDataCollected or LogsUnavailable."""
    result: Float | None = None
    """Goodput ratio, 0 to 1; absent until a training step was seen, and provisional until Complete."""
    training_time_sec: Float | None = None
    """Time since trainingStartTime, to the end of the workload or, while it runs, to the last sample."""
    lost_work_time_sec: Float | None = None
    """Work that has to be done again: of each interrupted attempt, the time from its last checkpoint, or from its first
    step where it saved none, to its end. A workload that begins anew inside its container is interrupted too."""
    reschedule_time_sec: Float | None = None
    """Time without resources: from the end of an attempt to the start of the next one's application, or to the first
    line of its log where no start is recognised. Taken off both sides of the ratio."""
    resume_time_sec: Float | None = None
    """Time to get going: of each attempt, from its start to its first step, and from each new beginning inside a
    container. Of the first attempt only where the
    LogProfile recognises the application's start: training time begins there, and otherwise with the first step."""
    checkpoint_save_time_sec: Float | None = None
    """Time in which saves held up training: every checkpoint once, by attempt and step."""
    interruption_count: Int32 | None = None
    """How often training was interrupted: attempts that failed, the last one included, and restarts inside a container,
    as torchrun makes them."""
    current_step: Int64 | None = None
    """Last training step; it falls when an attempt resumes from a checkpoint."""
    highest_step: Int64 | None = None
    """Highest training step."""
    last_checkpoint_step: Int64 | None = None
    """Step of the last checkpoint; above 0 a restart can resume from it."""
    last_checkpoint_time: Timestamp | None = None
    """When the last checkpoint was saved."""
    last_step_timestamp: Timestamp | None = None
    """Last step of the current attempt that is no warm-up: what stall detection goes by."""
    avg_step_time_sec: Float | None = None
    """Seconds per training step over the whole run, warm-up left out: mean of the printed times, or of the time between
    steps where none are printed."""
    avg_tflops_per_gpu: Float | None = Field(default=None, alias="avgTFLOPsPerGPU")
    """TFLOP/s per GPU as the framework prints it, mean over the whole run, warm-up left out."""
    log_interval: Int32 | None = None
    """Steps between two lines, from the LogProfile."""
    warmup_time_sec: Float | None = None
    """Time of the warm-up steps of all attempts."""
    non_warmup_time_sec: Float | None = None
    """Time of the other steps of all attempts."""
    training_start_time: Timestamp | None = None
    """When training time began to count: start of the first attempt's application, or its first step. Set once,
    but for a workload that is suspended or made anew."""
    application_start_time: Timestamp | None = None
    """When the framework of the current attempt was up."""
    application_stop_time: Timestamp | None = None
    """Last line of the current attempt's logs."""
    start_time: Timestamp | None = None
    """When the logs were first read."""
    completion_time: Timestamp | None = None
    """When the Job's workload ended."""
    last_sample_time: Timestamp | None = None
    """When the logs were last read."""
    doubts: list[str] | None = None
    """Why the figures may not stand for the whole training: lines of the log were lost, or an average is of
    some steps only."""
    notes: list[str] | None = None
    """What a reader of the numbers should know."""
    job_uid: str | None = Field(default=None, alias="jobUID")
    """UID of the Job that is measured: a later Job of the same name is another one."""
    workload_uid: str | None = Field(default=None, alias="workloadUID")
    """UID of the TrainJob of the attempt that the current step belongs to."""
    end_seen_time: Timestamp | None = None
    """When the end of the workload was first seen here; the final read is given up a bounded time later."""
    run: GoodputRun | None = None
    """State of the current attempt between samples; absent once complete."""
    earlier: EarlierRuns | None = None
    """Sums over the earlier attempts; absent once complete."""
    observed_generation: Int64 | None = None
    """Generation of the spec that this status is about."""
