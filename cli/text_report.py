"""The report as text: verdict and why, coverage, groups worst first, figures. Colour only where it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.run_view import GroupView, RunView

MOST_GROUPS = 40  # rows; the JSON form has them all
COLOURS = {"Passed": "green", "Succeeded": "green", "Incomplete": "yellow", "Failed": "red", "ValidationFailed": "red"}
ORDER = {"Failed": 0, "ValidationFailed": 1, "Pending": 2, "Running": 3, "Succeeded": 4}
FIGURES = {  # how each is called, and in a column's head
    "busBandwidthGBps": ("bus bandwidth, GB/s", "BUS GB/s"),
    "algBandwidthGBps": ("algorithm bandwidth, GB/s", "ALG GB/s"),
    "goodputRatio": ("goodput ratio", "GOODPUT"),
    "avgTFLOPsPerGPU": ("TFLOP/s per GPU", "TFLOP/s"),
    "avgStepTimeSec": ("step time, s", "STEP s"),
}


def print_report(console: Console, run: RunView) -> None:
    """Print the report of a run, ended or not."""
    status = run.status
    verdict = status.get("verdict", "none yet")
    style = f"bold {COLOURS.get(verdict, '')}".strip()
    console.print(Text.assemble(f"\n{run.namespace}/{run.name}: ", (verdict, style)))
    for reason in status.get("verdictReasons") or ():
        console.print(Text(f"  because {reason}"))
    for line in _facts(status):
        console.print(Text(f"  {line}"))
    if run.groups:
        console.print(_groups(run.groups))
    for line in _results(status.get("results") or {}):
        console.print(Text(line))


def _facts(status: Mapping[str, Any]) -> Iterable[str]:
    if "detectedPlatform" in status:
        gpus = status.get("resolvedGpusPerNode", "?")
        yield f"{status['detectedPlatform']}, {status.get('detectedGPUArchitecture', '?')}, {gpus} GPUs a node"
    if coverage := status.get("coverage"):
        yield (
            f"nodes: {coverage['targeted']} targeted, {coverage['tested']} tested, {coverage['excluded']} excluded, "
            f"{coverage['inconclusive']} inconclusive"
        )
    if progress := status.get("progress"):
        yield (
            f"groups: {progress['succeeded']} succeeded, {progress['failed']} failed of {progress['groups']}, "
            f"iteration {progress['iteration']} of {progress['iterations']}"
        )
    for condition in status.get("conditions") or ():
        if condition["status"] == "True":
            yield f"{condition['type']} ({condition['reason']}): {condition['message']}"


def _groups(groups: tuple[GroupView, ...]) -> Table:
    several = groups[-1].iteration > 1
    figures = [key for key in FIGURES if any(key in group.figures for group in groups)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in (*(("ITERATION",) if several else ()), "GROUP", "NODES", "TRAINJOB", "STATE"):
        table.add_column(heading, overflow="fold")
    for key in figures:
        table.add_column(FIGURES[key][1], justify="right", overflow="fold")
    shown = sorted(groups, key=lambda group: (ORDER.get(group.state, 2), group.iteration, group.group))[:MOST_GROUPS]
    for group in shown:
        values = [f"{group.figures[key]:.4g}" if key in group.figures else "-" for key in figures]
        state = Text(group.state, style=COLOURS.get(group.state, ""))
        first = (str(group.iteration),) if several else ()
        table.add_row(*first, _number(group), _span(group.nodes), group.train_job or "-", state, *values)
    if len(groups) > len(shown):
        table.caption = f"and {len(groups) - len(shown)} more groups"
    return table


def _number(group: GroupView) -> str:
    return f"{group.group} (retry {group.retry})" if group.retry else str(group.group)


def _span(nodes: tuple[str, ...]) -> str:
    """Name a group's nodes in short: all of a small group, first and last of a large one."""
    return ", ".join(nodes) if len(nodes) <= 2 else f"{nodes[0]} .. {nodes[-1]} ({len(nodes)})"


def _results(results: Mapping[str, Any]) -> Iterable[str]:
    for key, (label, _) in FIGURES.items():
        if found := results.get(key):
            worst = found.get("worst") or {}
            where = f", worst: group {worst['group']} ({', '.join(worst['nodes'][:4])})" if worst else ""
            yield f"{label}: min {found['min']:g}, median {found['median']:g}, max {found['max']:g}{where}"
