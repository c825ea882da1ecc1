"""Objects of a run as reports decode them: a few fields each, everything else skipped. Knows no way to read them."""

from __future__ import annotations

import msgspec

from sync_hooks.api.observed import Condition, Facts, Metadata
from sync_hooks.api.request import JobChild, JobFacts


class FailureLogFacts(Facts, frozen=True):
    """The end of a failing container's log."""

    pod_name: str = ""
    node_name: str = ""
    container: str = ""
    exit_code: int | None = None
    reason: str = ""
    tail: str = ""


class WorkloadReference(Facts, frozen=True):
    """The TrainJob of an attempt."""

    name: str = ""


class JobReport(JobFacts, frozen=True):
    """The status of a Job, as far as it is reported."""

    attempt: int = 0
    workload_ref: WorkloadReference = WorkloadReference()
    failure_log: FailureLogFacts | None = None


class JobObject(JobChild, frozen=True):
    """A Job: one group in one iteration."""

    metadata: Metadata = Metadata()
    status: JobReport = JobReport()


class BandwidthRow(Facts, frozen=True):
    """One message size."""

    size_bytes: int = 0
    alg: float = msgspec.field(default=0.0, name="algBandwidthGBps")
    bus: float = msgspec.field(default=0.0, name="busBandwidthGBps")
    wrong: int | None = None


class BandwidthReport(Facts, frozen=True):
    """The status of a BandwidthMeasurement, as far as it is reported."""

    conditions: tuple[Condition, ...] = ()
    results: tuple[BandwidthRow, ...] = ()
    wrong_count: int | None = None
    transport: tuple[str, ...] = ()
    socket_fallback: bool | None = None
    notes: tuple[str, ...] = ()


class BandwidthObject(Facts, frozen=True):
    """One Job's bandwidth table."""

    metadata: Metadata = Metadata()
    status: BandwidthReport = BandwidthReport()


class GoodputReport(Facts, frozen=True):
    """The status of a GoodputMeasurement, as far as it is reported; times in seconds."""

    conditions: tuple[Condition, ...] = ()
    result: float | None = None
    training_time_sec: float = 0.0
    lost_work_time_sec: float = 0.0
    reschedule_time_sec: float = 0.0
    resume_time_sec: float = 0.0
    checkpoint_save_time_sec: float = 0.0
    interruption_count: int = 0
    highest_step: int | None = None
    notes: tuple[str, ...] = ()


class GoodputObject(Facts, frozen=True):
    """One Job's goodput."""

    metadata: Metadata = Metadata()
    status: GoodputReport = GoodputReport()


class WorkflowStatusFacts(Facts, frozen=True):
    """What only the Workflow says."""

    warnings: tuple[str, ...] = ()


class WorkflowObject(Facts, frozen=True):
    """The run's Workflow."""

    metadata: Metadata = Metadata()
    status: WorkflowStatusFacts = WorkflowStatusFacts()


class MetadataOnly(Facts, frozen=True):
    """Any object without its spec and status."""

    metadata: Metadata = Metadata()
