"""What the server counts about itself, in Prometheus' words. Labels have few values: no name of an object is one."""

from __future__ import annotations

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

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
READY = Gauge("workloadrun_ready", "1 while the server asks for requests.")


def exposition() -> bytes:
    """Write all metrics in the text format."""
    return generate_latest(REGISTRY)
