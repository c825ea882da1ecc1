"""What the server counts about itself, in Prometheus' words. Labels have few values: no name of an object is one.

Only the figures of measurements bear names, and are bounded in `measured`.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from webhook.measured import Measured

_Metric = TypeVar("_Metric", Counter, Histogram)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, that says when it began

CONTENT_TYPE = CONTENT_TYPE_LATEST

ADMISSION_REQUESTS = Counter(
    "workloadrun_admission_requests_total",
    "Admission requests by webhook, kind, operation and answer.",
    ["webhook", "kind", "operation", "answer"],
)
ADMISSION_SECONDS = Histogram(
    "workloadrun_admission_seconds",
    "Time to answer an admission request, without the network.",
    ["webhook"],
    buckets=(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1),
)
CERTIFICATE_LOADS = Counter(
    "workloadrun_certificate_loads_total", "Times that the serving certificate was read, by outcome.", ["outcome"]
)
SYNC_SECONDS = Histogram(
    "workloadrun_sync_seconds",
    "Time to answer a hook call, reads of the cluster included, without the network.",
    ["controller"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
SYNC_HELD = Counter(
    "workloadrun_sync_held_seconds_total", "Time for which large hook calls were held back.", ["controller"]
)
SYNC_ANSWERS = Counter("workloadrun_sync_answers_total", "Hook calls by HTTP status.", ["controller", "code"])
READS = Counter(
    "workloadrun_reads_total",
    "Reads that hooks asked for, from snapshots included, by what was found: ok, absent, failed.",
    ["kind", "outcome"],
)
LOG_BYTES = Counter("workloadrun_log_bytes_total", "Bytes of container logs that were read.")
EVENTS_DROPPED = Counter(
    "workloadrun_events_dropped_total",
    "Events about runs that were not posted: too many waited, or the API server did not take them.",
)
VERDICTS = Counter(
    "workloadrun_verdicts_total",
    "Verdicts that were given to WorkloadRuns; one that had to be written twice counts twice.",
    ["verdict"],
)
MEASUREMENTS_LEFT_OUT = Counter(
    "workloadrun_measurements_left_out_total",
    "Answers of measurements whose figures are not shown because as many as may be are.",
)
MEASURED = Measured()
REGISTRY.register(MEASURED)
READY = Gauge("workloadrun_ready", "1 while the server asks for requests.")


@cache
def series(metric: _Metric, *labels: str) -> _Metric:
    """Find a series of a metric once: prometheus_client takes longer for it than for counting."""
    found: _Metric = metric.labels(*labels)
    return found


def exposition() -> bytes:
    """Write all metrics in the text format."""
    return generate_latest(REGISTRY)
