"""The BandwidthMeasurement: one Job's bandwidth table, read from the log of the pod that prints it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sync_hooks.api.logcursor import LogCursor
from sync_hooks.api.model import (
    ApiModel,
    Bool,
    Condition,
    Duration,
    Float,
    Int32,
    Int64,
    Timestamp,
    TypedLocalObjectReference,
)


class BandwidthMeasurementSpec(ApiModel):
    """Whose log is read, and how."""

    job_ref: TypedLocalObjectReference
    """The Job that is measured."""
    log_profile_ref: str = Field(min_length=1, max_length=253)
    """Name of the LogProfile that understands the table."""
    sample_interval: Duration | None = None
    """Time between two log reads (default 60s); less in the first minutes, so that short runs end soon. More than 2m is
    read as 2m: the end of a Job must be noticed while its pods still exist."""
    test_type: str | None = Field(default=None, max_length=63)
    """Collective under test, for example all_reduce: only its tables count. Of a test that is no known collective only
    tables that bear its name count, and what programs other than nccl-tests print."""
    ranks: Annotated[Int32, Field(ge=1)] | None = None
    """GPU ranks of the group, to check measured bandwidths against the collective."""


class BandwidthResult(ApiModel):
    """One message size, out of place."""

    size_bytes: Int64
    """Message size."""
    alg_bandwidth_g_bps: Float = Field(alias="algBandwidthGBps")
    """Algorithm bandwidth in GB/s (10^9 bytes), mean over the samples."""
    bus_bandwidth_g_bps: Float = Field(alias="busBandwidthGBps")
    """Bus bandwidth in GB/s (10^9 bytes) as printed, mean over the samples."""
    samples: Int32
    """Rows of this size."""
    wrong: Int64 | None = None
    """Wrong values that the test found in its results, in place and out of place; absent where it did not check."""


class BandwidthSummary(ApiModel):
    """Figures over all sizes; each says which rows it stands for, because they differ widely."""

    peak_bus_bandwidth_g_bps: Float = Field(alias="peakBusBandwidthGBps")
    """Largest bus bandwidth of all sizes. The threshold busBandwidthGBps is about this one."""
    at_largest_bus_bandwidth_g_bps: Float = Field(alias="atLargestBusBandwidthGBps")
    """Bus bandwidth of the largest size."""
    printed_average_bus_bandwidth_g_bps: Float | None = Field(default=None, alias="printedAverageBusBandwidthGBps")
    """Average that the test prints itself: over all sizes, small ones included, in place and out of place."""
    peak_alg_bandwidth_g_bps: Float = Field(alias="peakAlgBandwidthGBps")
    """Largest algorithm bandwidth of all sizes. The threshold algBandwidthGBps is about this one."""


class SizeSums(ApiModel):
    """Sums over the rows of one size."""

    size_bytes: Int64
    """Message size."""
    alg: Float
    """Sum of the algorithm bandwidths."""
    bus: Float
    """Sum of the bus bandwidths."""
    rows: Int32
    """Number of rows."""
    wrong: Int64 | None = None
    """Sum of the wrong counts; absent where no row was checked."""


class RankSpread(ApiModel):
    """How the ranks of a table are spread over hosts."""

    hosts: Int32
    """Hosts that have ranks. Names are told apart up to their first dot."""
    fewest: Int32
    """Ranks of the host with the fewest."""
    most: Int32
    """Ranks of the host with the most."""


class BandwidthReading(ApiModel):
    """What has been read of a log so far, and in which table the reading stands."""

    pod: str | None = None
    """Pod whose log it is."""
    cursor: LogCursor = LogCursor()
    """How far the log has been read."""
    sizes: list[SizeSums] | None = None
    """Sums by message size, in order of first appearance."""
    table: str | None = None
    """Collective of the table at the cursor, where the log names it."""
    columns: list[str] | None = None
    """Columns of the table at the cursor, as its header names them."""
    table_counts: Bool | None = None
    """Whether a row of the table at the cursor counted, or would have if it could have been read."""
    begun: Bool | None = None
    """Whether the log has shown how a table begins: its ranks, its name or its header."""
    headless: Bool | None = None
    """Whether a row counted before the log had shown how its table begins."""
    open: Bool | None = None
    """Whether rows of the table at the cursor count and its footer has not come."""
    unended: Int32 | None = None
    """Tables with rows that count that are not whole: another began before their footer, lines of them were gone, or
    their rows do not make the average of their footer."""
    bus_sum: Float | None = None
    """Sum of the bus bandwidths of the table at the cursor, in place and out of place."""
    bus_count: Int32 | None = None
    """How many there are."""
    announced: Int32 | None = None
    """How far the table at the cursor is announced, as long as it has no row: its name (1), ranks (2) or header (3)."""
    unfilled: Int32 | None = None
    """Tables that may count of which nothing has come but their announcement: another began, or lines were gone."""
    kind: str | None = None
    """Kind of the first table that counted, where no known testType chooses."""
    others: list[str] | None = None
    """Kinds of rows that did not count because another collective was asked for."""
    data_types: list[str] | None = None
    """Element types and reductions of the rows that count."""
    uneven: Int32 | None = None
    """Rows with less than half, or more than twice, the bandwidth of the rows of their size before them."""
    unread: Int32 | None = None
    """Lines that look like rows of the table but that the LogProfile's pattern does not match."""
    unread_wrong: Int64 | None = None
    """Wrong values that such rows report all the same; they count unless the footers say that there are none."""
    unchecked: Int32 | None = None
    """Rows whose results the test did not check."""
    left_out: Int32 | None = None
    """Rows of sizes beyond the number that is kept."""
    gaps: Int32 | None = None
    """How often lines were gone before they could be read."""
    out_of_bounds: Int64 | None = None
    """Wrong results by the test's own footer."""
    printed_average: Float | None = None
    """Average bus bandwidth by the test's own footer."""
    ranks: Int32 | None = None
    """GPU ranks that the log lists for the table at the cursor."""
    fewest_ranks: Int32 | None = None
    """Fewest GPU ranks that the log lists for a table with rows that count."""
    first_host: str | None = None
    """Host of the first rank of the table at the cursor."""
    first_host_ranks: Int32 | None = None
    """Ranks of the table at the cursor on the host of its first one."""
    host_ranks: dict[str, Int32] | None = None
    """Ranks by host of the table at the cursor, until its first row."""
    spread: RankSpread | None = None
    """How the ranks of a table with rows that count are spread; of several, the most uneven."""
    apart: Bool | None = None
    """Whether rank 0 was listed on more than one host: the tables are of programs that did not find each other."""
    several_hosts: Bool | None = None
    """Whether ranks or NCCL's own messages show more than one host; absent while the log says nothing."""
    networks: list[str] | None = None
    """Networks that NCCL says it uses."""
    channels: list[str] | None = None
    """Networks that NCCL's channels between nodes go through, and MNNVL where that is NVLink."""


class BandwidthMeasurementStatus(ApiModel):
    """What was measured. Without results nothing was, and there is no number that says otherwise."""

    conditions: list[Condition] | None = Field(default=None, json_schema_extra={"x-kubernetes-list-type": "map"})
    """Measuring: the Job runs and its log is read. Complete: the results are final; its reason is JobSucceeded,
    JobFailed, NoDataCollected or LogsUnavailable."""
    results: list[BandwidthResult] | None = None
    """One entry a message size, in order of first appearance; provisional until Complete."""
    summary: BandwidthSummary | None = None
    """Figures over all sizes."""
    wrong_count: Int64 | None = None
    """Wrong values over all rows, or wrong results by the test's footer where rows carry no counts; absent where
    nothing was checked."""
    transport: list[str] | None = None
    """Networks that NCCL used, for example IB or Socket, and MNNVL for NVLink between nodes; needs NCCL_DEBUG=INFO in
    the workload."""
    socket_fallback: Bool | None = None
    """NCCL's traffic between nodes went through TCP sockets; absent where the log does not say."""
    ranks: Int32 | None = None
    """GPU ranks that the log lists; of several tables that count, the fewest."""
    ranks_on_first_host: Int32 | None = None
    """How many of them run on the host of the first one."""
    rank_spread: RankSpread | None = None
    """How they are spread over hosts; of several tables that count, the most uneven. Absent where lines of the list are
    missing."""
    several_hosts: Bool | None = None
    """Ranks, or NCCL by its own words, run on more than one host; absent where the log does not say."""
    ranks_apart: Bool | None = None
    """Rank 0 was listed on more than one host: programs that were to be one did not find each other."""
    doubts: list[str] | None = None
    """Why the figures may not stand for the whole test: rows that could not be read, a table without its end. With any
    of them the run is not Passed."""
    notes: list[str] | None = None
    """What a reader of the numbers should know."""
    rows_seen: Int32 | None = None
    """Rows that count."""
    start_time: Timestamp | None = None
    """When the first row was read."""
    completion_time: Timestamp | None = None
    """When the Job's workload ended."""
    last_sample_time: Timestamp | None = None
    """When the log was last read."""
    job_uid: str | None = Field(default=None, alias="jobUID")
    """UID of the Job that is measured: a later Job of the same name is another one."""
    workload_uid: str | None = Field(default=None, alias="workloadUID")
    """UID of the TrainJob whose log is read: another attempt starts from nothing."""
    end_seen_time: Timestamp | None = None
    """When the end of the workload was first seen here; the final read is given up a bounded time later."""
    reading: BandwidthReading | None = None
    """State of the reading between samples; absent once complete."""
    final_reading: BandwidthReading | None = None
    """State of the one read of the whole finished log; absent once complete."""
    observed_generation: Int64 | None = None
    """Generation of the spec that this status is about."""
