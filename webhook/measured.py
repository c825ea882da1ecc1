"""Figures of measurements as Prometheus series, taken from the answers that pass by. Asks the cluster for nothing.

Series bear names of objects, so that their number is bounded: by measurement, by message size, and by age, because
several replicas answer for one measurement, and none is told when it is deleted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import monotonic

import msgspec
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sync_hooks.api.conditions import COMPLETE
from sync_hooks.api.names import LABEL_WORKFLOW
from sync_hooks.api.observed import Condition, Facts, LiveObject

MOST_MEASUREMENTS = 500  # a process; more are left out until others end
MOST_SIZES = 64  # of one measurement, the largest
RUNNING_SECONDS = 600  # several sample intervals, the longest of which are two minutes
ENDED_SECONDS = 3600  # how long goodput's ratio stays after the end

LABELS = ("namespace", "measurement", "job", "workflow")
BANDWIDTH_LABELS = (*LABELS, "nccl_test", "message_size_bytes")
BANDWIDTH: Mapping[str, tuple[str, str]] = {
    "cre_nccl_algbw_gbps": ("algBandwidthGBps", "Algorithm bandwidth of a message size in GB/s while its Job runs."),
    "cre_nccl_busbw_gbps": ("busBandwidthGBps", "Bus bandwidth of a message size in GB/s while its Job runs."),
}
"""Metrics of bandwidth by name: field of a result, and what is said of it."""

RATIO = "cre_goodput_ratio"
GOODPUT: Mapping[str, tuple[str, str]] = {
    RATIO: ("result", "Share of the training time that made progress which was kept, 0 to 1."),
    "cre_goodput_avg_tflops_per_gpu": ("avgTFLOPsPerGPU", "TFLOP/s per GPU as the framework prints it."),
    "cre_goodput_avg_step_time_seconds": ("avgStepTimeSec", "Seconds per training step, warm-up left out."),
    "cre_goodput_reschedule_time_seconds": ("rescheduleTimeSec", "Time without resources, between attempts."),
    "cre_goodput_resume_time_seconds": ("resumeTimeSec", "Time from an attempt's start to its first step."),
    "cre_goodput_checkpoint_save_time_seconds": ("checkpointSaveTimeSec", "Time in which saves held up training."),
    "cre_goodput_lost_work_time_seconds": ("lostWorkTimeSec", "Work that has to be done again."),
    "cre_goodput_training_time_seconds": ("trainingTimeSec", "Time since training began."),
    "cre_goodput_warmup_time_seconds": ("warmupTimeSec", "Time of the warm-up steps."),
    "cre_goodput_non_warmup_time_seconds": ("nonWarmupTimeSec", "Time of the other steps."),
}
"""Metrics of goodput by name: field of the status, and what is said of it."""


class SizeFacts(Facts, frozen=True):
    """One message size of a bandwidth measurement's status."""

    size_bytes: int = 0
    alg_bandwidth: float = msgspec.field(default=0, name="algBandwidthGBps")
    bus_bandwidth: float = msgspec.field(default=0, name="busBandwidthGBps")


class MeasurementFacts(Facts, frozen=True):
    """The part of a measurement's status that is shown."""

    conditions: tuple[Condition, ...] = ()
    results: tuple[SizeFacts, ...] = ()
    result: float | None = None
    avg_tflops_per_gpu: float | None = msgspec.field(default=None, name="avgTFLOPsPerGPU")
    avg_step_time_sec: float | None = None
    reschedule_time_sec: float | None = None
    resume_time_sec: float | None = None
    checkpoint_save_time_sec: float | None = None
    lost_work_time_sec: float | None = None
    training_time_sec: float | None = None
    warmup_time_sec: float | None = None
    non_warmup_time_sec: float | None = None

    @property
    def complete(self) -> bool:
        """Whether the results are final."""
        return any(item.type == COMPLETE and item.status == "True" for item in self.conditions)


@dataclass(frozen=True, slots=True)
class Point:
    """One series: metric, values of its labels in their order, value."""

    metric: str
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class _Shown:
    points: tuple[Point, ...]
    until: float  # of the clock


def points_of(parent: LiveObject, status: MeasurementFacts) -> tuple[Point, ...]:
    """Return the series of a measurement; of one that is complete only goodput's ratio is left."""
    labels = _labels(parent)
    if parent.kind == "BandwidthMeasurement":
        return () if status.complete else tuple(_bandwidth(labels, _test_type(parent), status.results))
    fields = msgspec.to_builtins(status)
    names = (RATIO,) if status.complete else tuple(GOODPUT)
    return tuple(Point(name, labels, fields[GOODPUT[name][0]]) for name in names if GOODPUT[name][0] in fields)


def _labels(parent: LiveObject) -> tuple[str, ...]:
    spec = parent.spec if isinstance(parent.spec, dict) else {}
    reference = spec.get("jobRef")
    job = reference.get("name") if isinstance(reference, dict) else ""
    workflow = (parent.metadata.labels or {}).get(LABEL_WORKFLOW, "")
    return parent.metadata.namespace, parent.metadata.name, str(job or ""), workflow


def _test_type(parent: LiveObject) -> str:
    return str(parent.spec.get("testType") or "") if isinstance(parent.spec, dict) else ""


def _bandwidth(labels: tuple[str, ...], test: str, results: Iterable[SizeFacts]) -> Iterator[Point]:
    for item in sorted(results, key=lambda size: size.size_bytes)[-MOST_SIZES:]:
        own = (*labels, test, str(item.size_bytes))
        yield Point("cre_nccl_algbw_gbps", own, item.alg_bandwidth)
        yield Point("cre_nccl_busbw_gbps", own, item.bus_bandwidth)


class Measured(Collector):
    """The measurements that were answered of late; one a process, shared by its threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Start with none; ``clock`` tells seconds."""
        self._clock = clock
        self._shown: dict[tuple[str, str, str], _Shown] = {}
        self._guard = threading.Lock()

    def take(self, parent: LiveObject, status: MeasurementFacts) -> bool:
        """Show a measurement as it was answered last, or no longer; tell whether there was room for it."""
        key = (parent.kind, parent.metadata.namespace, parent.metadata.name)
        points = () if parent.metadata.deletion_timestamp else points_of(parent, status)
        with self._guard:
            now = self._clock()
            self._forget(now)
            if not points:
                self._shown.pop(key, None)
                return True
            if key not in self._shown and len(self._shown) >= MOST_MEASUREMENTS:
                return False
            self._shown[key] = _Shown(points, now + (ENDED_SECONDS if status.complete else RUNNING_SECONDS))
            return True

    def _forget(self, now: float) -> None:
        old = [key for key, shown in self._shown.items() if shown.until <= now]
        for key in old:
            del self._shown[key]

    def collect(self) -> Iterator[Metric]:
        """Write the families, each with its series in order of their labels."""
        with self._guard:
            self._forget(self._clock())
            points = [point for shown in self._shown.values() for point in shown.points]
        families = {
            name: GaugeMetricFamily(name, said, labels=BANDWIDTH_LABELS) for name, (_, said) in BANDWIDTH.items()
        }
        families |= {name: GaugeMetricFamily(name, said, labels=LABELS) for name, (_, said) in GOODPUT.items()}
        for point in sorted(points, key=lambda item: item.labels):
            families[point.metric].add_metric(point.labels, point.value)
        yield from families.values()
