"""What is asked of both measurements: a Job of ours, a profile, an interval."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import not_supported
from sync_hooks.admission.rules import KindRules
from sync_hooks.admission.validation.grammar import check, dns_subdomain
from sync_hooks.admission.validation.measurements import sampling_advice, sampling_errors
from sync_hooks.admission.value import Value
from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementSpec
from sync_hooks.api.errors import FieldError
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec
from sync_hooks.api.model import GROUP


def job_reference_errors(spec: Value) -> Iterator[FieldError]:
    """Check that a Job of our group is named."""
    reference = spec.field("jobRef")
    group, kind = reference.field("apiGroup"), reference.field("kind")
    if isinstance(group.json, str) and group.json != GROUP:
        yield not_supported(group, (GROUP,))
    if isinstance(kind.json, str) and kind.json != "Job":
        yield not_supported(kind, ("Job",))
    yield from check(reference.field("name"), dns_subdomain)


RULES = {
    "BandwidthMeasurement": KindRules(
        model=BandwidthMeasurementSpec,
        rules={
            "jobRef": (job_reference_errors,),
            "logProfileRef": (sampling_errors,),
            "sampleInterval": (sampling_errors,),
        },
        advice={"logProfileRef": (sampling_advice,)},
    ),
    "GoodputMeasurement": KindRules(
        model=GoodputMeasurementSpec,
        rules={
            "jobRef": (job_reference_errors,),
            "logProfileRef": (sampling_errors,),
            "sampleInterval": (sampling_errors,),
        },
        advice={"logProfileRef": (sampling_advice,)},
    ),
}
