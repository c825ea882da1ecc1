"""What is measured: profiles that can exist, intervals that are kept, tests that are known."""

from __future__ import annotations

from collections.abc import Iterator

from sync_hooks.admission.causes import nearest
from sync_hooks.admission.validation.durations import duration_errors, seconds_of
from sync_hooks.admission.validation.grammar import check, dns_subdomain
from sync_hooks.admission.value import Value
from sync_hooks.api.errors import FieldError
from sync_hooks.api.limits import INTRA_NODE, INTRA_RACK
from sync_hooks.measurements.collective import COLLECTIVES, collective

LONGEST_INTERVAL_SECONDS = 120  # what measurements read more rarely would miss the end of a Job


def bandwidth_errors(spec: Value) -> Iterator[FieldError]:
    """Check the bandwidth measurement of a run or a Job."""
    return sampling_errors(spec.field("bandwidthMeasurement"))


def goodput_errors(spec: Value) -> Iterator[FieldError]:
    """Check the goodput measurement of a run or a Job."""
    return sampling_errors(spec.field("goodputMeasurement"))


def sampling_errors(measurement: Value) -> Iterator[FieldError]:
    """Check the profile's name and the interval of one measurement."""
    profile = measurement.field("logProfileRef")
    if profile.text:
        yield from check(profile, dns_subdomain)
    yield from duration_errors(measurement.field("sampleInterval"))


def bandwidth_advice(spec: Value) -> Iterator[str]:
    """Point at what is not taken as it stands in a bandwidth measurement, and at a program that tests another thing."""
    measurement = spec.field("bandwidthMeasurement")
    yield from sampling_advice(measurement)
    yield from _unread_advice(spec, measurement)
    test, program = measurement.field("testType"), _program(spec)
    wanted, tested = collective(test.text), collective(program.text)
    if wanted and tested and wanted != tested:
        yield f"{test}: {program} tests {tested.name}, and only rows of {wanted.name} count"


def goodput_advice(spec: Value) -> Iterator[str]:
    """Point at what is not taken as it stands in a goodput measurement, and at a program that does not train."""
    measurement, program = spec.field("goodputMeasurement"), _program(spec)
    yield from sampling_advice(measurement)
    if program.text and (tested := collective(program.text)):
        yield f"{measurement}: {program} tests {tested.name} and trains nothing: no data, no verdict Passed"
    yield from _unread_advice(spec, measurement)


def _program(spec: Value) -> Value:
    """Return the path of the program that the framework starts; absent for torch."""
    binary = spec.field("framework", "mpi", "binary")
    return next(iter(spec.field("framework", "exec", "command").elements()), binary)


def _unread_advice(spec: Value, measurement: Value) -> Iterator[str]:
    """Point at nodes whose logs nobody reads, where nothing makes one program of theirs."""
    if spec.field("framework", "exec").present and spans_nodes(spec):
        yield f"{measurement}: only one node's log is read, and exec joins no programs: the others are not measured"


def spans_nodes(spec: Value) -> bool:
    """Tell whether groups of a run are known to have more than one node."""
    scale = spec.field("orchestration", "testScale").text
    return scale == INTRA_RACK or (scale != INTRA_NODE and (spec.field("numNodes").number or 0) > 1)


def sampling_advice(measurement: Value) -> Iterator[str]:
    """Point at an interval that is too long, and at a test that is not known."""
    interval, test = measurement.field("sampleInterval"), measurement.field("testType")
    if interval.text and (seconds_of(interval.text) or 0) > LONGEST_INTERVAL_SECONDS:
        yield f"{interval}: more than 2m is read as 2m"
    if test.text and collective(test.text) is None:
        near = nearest(test.text, [item.name for item in COLLECTIVES.values()])
        hint = f"; did you mean {near}?" if near else ""
        yield f"{test}: no collective of this name is known, no table will count{hint}"
