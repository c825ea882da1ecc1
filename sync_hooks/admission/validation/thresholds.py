"""What is asked of measured values: keys that are known and fed by a measurement, conditions that can be judged."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import invalid, not_supported, required
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.measurements.thresholds import FIGURES, compile_threshold, only_answer


def threshold_errors(spec: Value) -> Iterator[FieldError]:
    """Check every threshold of a run or a Job: one that cannot be judged would only fail it in the end."""
    for key, threshold in spec.field("thresholds").entries():
        if key not in FIGURES:
            yield not_supported(Value(key, threshold.path), FIGURES)
        elif not spec.field(field := FIGURES[key].spec_field).present:
            yield invalid(threshold, f"needs spec.{field}, which measures {key}")
        if threshold.json == "":
            yield required(threshold, "must be a condition on value, for example value >= 300")
        elif threshold.text and isinstance(problem := compile_threshold(threshold.text), str):
            yield invalid(threshold, f"{problem}; it is a condition on value, for example value >= 300")


def threshold_advice(spec: Value) -> Iterator[str]:
    """Point at conditions that no measured number can change, such as a share given in per cent."""
    for key, threshold in spec.field("thresholds").entries():
        if key not in FIGURES or not threshold.text:
            continue
        answer = only_answer(key, threshold.text)
        if answer is not None:
            yield f"{threshold}: is {str(answer).lower()} for every {key} there can be: no group can {_CANNOT[answer]}"


_CANNOT = {True: "fail it", False: "meet it"}
