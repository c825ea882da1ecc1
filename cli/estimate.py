"""What a simulated run would cost a real cluster: time, objects, writes to its API, calls of the hooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cli.reporting.wording import span_of_time
from cli.simulator.report import Report


def estimate(report: Report, groups: int) -> dict[str, Any]:
    """Sum up a simulation; ``groups`` is how many Jobs it ran, 0 where it made none."""
    objects = Counter(f"{item['kind']}.{item['apiVersion'].rpartition('/')[0]}".rstrip(".") for item in report.objects)
    writes: Counter[str] = Counter()
    written = [one for one in report.writes if one.actor]  # without one: the cluster as it was found
    for one in written:
        writes[one.actor] += one.requests
    return {
        "seconds": round(report.virtual_seconds, 3),
        "objects": dict(sorted(objects.items())),
        "apiWrites": dict(sorted(writes.items())),
        "apiWritesPerGroup": round(sum(writes.values()) / groups, 1) if groups else 0,
        "apiWriteBytes": sum(one.bytes for one in written),
        "hookCalls": {one.controller: one.calls for one in report.hooks},
        "largestHookRequestBytes": max((one.largest_request for one in report.hooks), default=0),
        "logBytesRead": report.log_bytes,
    }


def lines(costs: Mapping[str, Any]) -> Iterator[str]:
    """Tell the estimate, a line each."""
    objects, writes, calls = costs["objects"], costs["apiWrites"], costs["hookCalls"]
    yield f"time: {span_of_time(costs['seconds'])}, if groups run as long as they did here"
    yield f"objects at the end: {sum(objects.values())} ({_listed(objects)})"
    per_group = f", {costs['apiWritesPerGroup']:g} a group" if costs["apiWritesPerGroup"] else ""
    yield f"API writes: {sum(writes.values())}{per_group} ({_listed(writes)}), {_bytes(costs['apiWriteBytes'])}"
    yield f"hook calls: {sum(calls.values())} ({_listed(calls)}), largest {_bytes(costs['largestHookRequestBytes'])}"
    yield f"logs read: {_bytes(costs['logBytesRead'])}"


def _listed(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000
    return ""
