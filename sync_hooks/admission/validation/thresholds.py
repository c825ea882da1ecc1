"""What is asked of measured values: keys that are known and fed by a measurement, conditions that can be judged."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, not_supported, required
from sync_hooks.admission.expressions import expression_problem
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import THRESHOLD_KEYS

FED_BY = {
    "algBandwidthGBps": "bandwidthMeasurement",
    "avgStepTimeSec": "goodputMeasurement",
    "avgTFLOPsPerGPU": "goodputMeasurement",
    "busBandwidthGBps": "bandwidthMeasurement",
    "goodputRatio": "goodputMeasurement",
}
"""Keys, each with the measurement that finds its value."""


def threshold_errors(spec: Value) -> Iterator[FieldError]:
    """Check every threshold of a run or a Job: one that cannot be judged would only fail it in the end."""
    for key, threshold in spec.field("thresholds").entries():
        if key not in FED_BY:
            yield not_supported(Value(key, threshold.path), THRESHOLD_KEYS)
        elif not spec.field(FED_BY[key]).present:
            yield invalid(threshold, f"needs spec.{FED_BY[key]}, which measures {key}")
        if threshold.json == "":
            yield required(threshold, "must be a condition on value, for example value >= 300")
        elif threshold.text and (problem := expression_problem(threshold.text, {"value": "DYN"})):
            yield invalid(threshold, f"{problem}; the variable is value, for example value >= 300")
