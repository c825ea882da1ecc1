"""The report as text: verdict and why, coverage, groups worst first, figures, ends of failing logs.

Colour only where it is asked for; control characters of names and logs are shown, never sent to the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.group_view import GroupView, worst_first
from cli.output import printable
from cli.reporting import wording
from cli.run_view import FIGURES, RunView

MOST_GROUPS = 40  # rows; the JSON form has them all
MOST_LOGS = 3
MOST_LOG_LINES = 20
COLOURS = {"Passed": "green", "Succeeded": "green", "Incomplete": "yellow", "Failed": "red", "ValidationFailed": "red"}


def print_report(console: Console, run: RunView) -> None:
    """Print the report of a run, ended or not."""
    print_summary(console, run)
    if run.groups:
        console.print(_table(run))
    if len(run.groups) > MOST_GROUPS:
        console.print(f"and {len(run.groups) - MOST_GROUPS} more groups")
    for line in wording.results(run.status.get("results") or {}):
        console.print(_safe(line))
    failing = [group for group in worst_first(run.groups, run.figure) if _needs_a_word(group)]
    for group in failing[:MOST_LOGS]:
        for line in _failure(group):
            console.print(_safe(line))
    if len(failing) > MOST_LOGS:
        console.print(f"and {len(failing) - MOST_LOGS} more groups failed; -o html or -o json tells of them all")


def print_summary(console: Console, run: RunView) -> None:
    """Print what is known of a run as a whole."""
    verdict = run.verdict or "under way"
    style = f"bold {COLOURS.get(verdict, '')}".strip()
    console.print(Text.assemble(f"\n{printable(run.namespace)}/{printable(run.name)}: ", (printable(verdict), style)))
    word = "but" if run.verdict == "Passed" else "because"
    for reason in run.status.get("verdictReasons") or ():
        console.print(_safe(f"  {word} {reason}"))
    for line in wording.facts(run.status):
        console.print(_safe(f"  {line}"))
    for note in run.notes:
        console.print(_safe(f"  not known: {note}"))
    for warning in run.warnings:
        console.print(_safe(f"  warning: {warning}"))


def _safe(line: str) -> Text:
    return Text(printable(line))


def _table(run: RunView) -> Table:
    several = any(group.key.iteration > 1 for group in run.groups)
    figures = [key for key in FIGURES if any(key in group.figures for group in run.groups)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in (*(("ITERATION",) if several else ()), "GROUP", "NODES", "TRAINJOB", "STATE"):
        table.add_column(heading, overflow="fold")
    for key in figures:
        table.add_column(wording.HEADINGS[key], justify="right", overflow="fold")
    shown = worst_first(run.groups, run.figure)[:MOST_GROUPS]
    for group in shown:
        table.add_row(*_row(group, figures, several=several))
    return table


def _row(group: GroupView, figures: Sequence[str], *, several: bool) -> list[Text]:
    number = f"{group.key.group} (retry {group.key.retry})" if group.key.retry else str(group.key.group)
    words = [
        *([str(group.key.iteration)] if several else []),
        number,
        wording.span(group.nodes),
        group.train_job or "-",
    ]
    state = Text(printable(group.state), style=COLOURS.get(group.state, ""))
    return [*map(_safe, words), state, *(_safe(wording.figure(group, key)) for key in figures)]


def _needs_a_word(group: GroupView) -> bool:
    return group.state in ("Failed", "ValidationFailed") and not group.superseded


def _failure(group: GroupView) -> Iterator[str]:
    yield ""
    yield f"{group.label} in iteration {group.key.iteration}: {group.reason}: {group.detail}"
    if group.log is None:
        return
    code = f", exit code {group.log.exit_code}" if group.log.exit_code is not None else ""
    where = f" on node {group.log.node_name}" if group.log.node_name else ""
    yield f"  the end of the log of pod {group.log.pod_name}{where}{code}:"
    for line in group.log.tail.splitlines()[-MOST_LOG_LINES:]:
        yield f"  | {line.expandtabs()}"
