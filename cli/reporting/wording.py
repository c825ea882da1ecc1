"""Words and numbers that all forms of a report share, so that they say the same of the same run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from cli.group_view import GroupView
from cli.run_view import RunView
from sync_hooks.api.time import parse_rfc3339

LABELS = {
    "busBandwidthGBps": "bus bandwidth, GB/s",
    "algBandwidthGBps": "algorithm bandwidth, GB/s",
    "goodputRatio": "goodput ratio",
    "avgTFLOPsPerGPU": "TFLOP/s per GPU",
    "avgStepTimeSec": "step time, s",
}
"""What each figure is called."""

HEADINGS = {
    "busBandwidthGBps": "BUS GB/s",
    "algBandwidthGBps": "ALG GB/s",
    "goodputRatio": "GOODPUT",
    "avgTFLOPsPerGPU": "TFLOP/s",
    "avgStepTimeSec": "STEP s",
}
"""What its column is called."""

MOST_NODES = 4  # of a group, in one line


def facts(status: Mapping[str, Any]) -> Iterator[str]:
    """Say what is known of a run, a line each: hardware, coverage, groups, conditions, what is waited for."""
    if "detectedPlatform" in status:
        gpus = status.get("resolvedGpusPerNode", "?")
        yield f"{status['detectedPlatform']}, {status.get('detectedGPUArchitecture', '?')}, {gpus} GPUs a node"
    if coverage := status.get("coverage"):
        yield f"nodes: {coverage_text(coverage)}"
    if progress := status.get("progress"):
        yield f"groups: {progress_text(progress)}"
    for condition in status.get("conditions") or ():
        if condition["status"] == "True":
            yield f"{condition['type']} ({condition['reason']}): {condition['message']}"
    if waiting := status.get("waiting"):
        yield f"waits since {waiting['since']}: {waiting['message']}"


def coverage_text(coverage: Mapping[str, int]) -> str:
    """Say how many nodes were targeted and what became of them."""
    return (
        f"{coverage['targeted']} targeted, {coverage['tested']} tested, {coverage['excluded']} excluded, "
        f"{coverage['inconclusive']} inconclusive"
    )


def progress_text(progress: Mapping[str, int]) -> str:
    """Say how many groups have ended and how."""
    under_way = progress["running"] + progress["pending"]
    more = f", {progress['running']} running, {progress['pending']} pending" if under_way else ""
    return (
        f"{progress['succeeded']} succeeded, {progress['failed']} failed{more} of {progress['groups']}, "
        f"iteration {progress['iteration']} of {progress['iterations']}"
    )


def results(found: Mapping[str, Any]) -> Iterator[str]:
    """Say the range of every figure, and where it is worst."""
    for key, label in LABELS.items():
        if spread := found.get(key):
            worst = spread.get("worst") or {}
            where = f", worst: group {worst['group']} ({names(worst['nodes'])})" if worst else ""
            yield f"{label}: min {spread['min']:g}, median {spread['median']:g}, max {spread['max']:g}{where}"
            if apart := spread.get("outliers"):
                groups = (f"group {one['group']} at {one['value']:g} ({names(one['nodes'])})" for one in apart)
                yield f"{label}, apart from the others: {'; '.join(groups)}"


def names(nodes: Iterable[str]) -> str:
    """List nodes: all of a few, the first ones of many."""
    listed = list(nodes)
    more = f" and {len(listed) - MOST_NODES} more" if len(listed) > MOST_NODES else ""
    return ", ".join(listed[:MOST_NODES]) + more


def span(nodes: tuple[str, ...]) -> str:
    """Name a group's nodes in short: all of a small group, first and last of a large one."""
    return ", ".join(nodes) if len(nodes) <= 2 else f"{nodes[0]} .. {nodes[-1]} ({len(nodes)})"


def figure(group: GroupView, key: str) -> str:
    """Write a figure of a group, a hyphen where it has none."""
    return f"{group.figures[key]:.4g}" if key in group.figures else "-"


def verdict_of(run: RunView) -> str:
    """Return the verdict as a word that can stand alone."""
    return run.verdict or "not ended"


def seconds_of(group: GroupView, now: datetime) -> float | None:
    """Return how long a group has run, to now where it still does; None where it never started."""
    started = parse_rfc3339(group.started) if group.started else None
    ended = parse_rfc3339(group.ended) if group.ended else now
    return max(0.0, (ended - started).total_seconds()) if started and ended else None


def span_of_time(seconds: float) -> str:
    """Write seconds as people say them: 42s, 3m20s, 2h05m, 3d04h."""
    total = round(seconds)
    if total < 60:
        return f"{total}s"
    if total < 3600:
        return f"{total // 60}m{total % 60:02d}s"
    if total < 86400:
        return f"{total // 3600}h{total % 3600 // 60:02d}m"
    return f"{total // 86400}d{total % 86400 // 3600:02d}h"
