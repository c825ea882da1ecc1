"""`workloadrun status`: where a run stands, in a request or two whatever its size; without a name, all runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import click
from rich.table import Table

from cli import terminal
from cli.completion import complete_runs
from cli.connection import Cluster, Page, connect, understood
from cli.exits import DONE, exit_of
from cli.gathering import read_run_object
from cli.options import ClusterFlags, cluster_options, color_option, output_option, seconds_of
from cli.output import print_json, print_note, printable
from cli.parts import missing_parts, tell_missing
from cli.reporting.formats import ALL
from cli.reporting.text import print_summary
from cli.reporting.wording import progress_text, results, span_of_time
from cli.run_objects import RunObjects
from cli.run_status import checked, status_of
from cli.run_view import view
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.time import seconds_between

SILENT_SECONDS = 30  # a run that nobody has looked at for so long waits for something that does not come


@click.command(name="status")
@click.argument("name", required=False, shell_complete=complete_runs)
@click.option("-A", "--all-namespaces", is_flag=True, help="List the runs of all namespaces.")
@click.option("-l", "--selector", metavar="LABELS", default="", help="List runs with these labels.")
@click.option("-w", "--wait", is_flag=True, help="Follow the run to its verdict.")
@click.option("--timeout", metavar="DURATION", default="", help="Follow it no longer than this.")
@cluster_options
@output_option(*ALL)
@color_option
def command(
    name: str | None,
    all_namespaces: bool,  # noqa: FBT001 - click's flags
    selector: str,
    wait: bool,  # noqa: FBT001
    timeout: str,
    output: str,
    no_color: bool,  # noqa: FBT001
    **flags: str,
) -> int:
    """Print where the run NAME stands; without NAME list the runs of the namespace.

    Exits 0 if it passed, 1 if it failed, 3 if it is incomplete, 4 if it has not ended; 0 for a list.
    """
    if name is None and (wait or timeout):
        raise click.UsageError("--wait and --timeout follow one run: NAME is missing")
    if name is not None and (all_namespaces or selector):
        raise click.UsageError("--all-namespaces and --selector list runs: NAME is too much")
    if output not in ("text", "json") and not wait:
        raise click.UsageError(f"-o {output} is a form of report: give --wait, or workloadrun report")
    seconds = seconds_of("--timeout", timeout) if timeout else None
    cluster = connect(ClusterFlags(**flags))
    if name is None:
        _list(cluster, selector, output, all_namespaces=all_namespaces, no_color=no_color)
        return DONE
    run = read_run_object(cluster, name)
    if wait:
        from cli.following import follow_and_report

        return follow_and_report(cluster, run, seconds, output, no_color=no_color)
    if output == "json":
        print_json({"workloadRun": run})
    else:
        _print(cluster, run, no_color=no_color)
    return exit_of(status_of(run))


def _print(cluster: Cluster, run: Mapping[str, Any], *, no_color: bool) -> None:
    console, status, now = terminal.stdout(no_color=no_color), status_of(run), datetime.now(UTC)
    print_summary(console, view(RunObjects(run)))
    age = seconds_between(run["metadata"].get("creationTimestamp"), now)
    if age is not None and not status.get("verdict"):
        console.print(f"  created {span_of_time(age)} ago")
    for line in results(status.get("results") or {}):
        console.print(printable(f"  {line}"))
    if not status.get("conditions") and age is not None and age > SILENT_SECONDS:
        print_note(why_silent(cluster))


def why_silent(cluster: Cluster) -> str:
    """Say what may be wrong where nothing happens to a run; one request."""
    missing = missing_parts(cluster.served_groups())
    if missing:
        return f"nothing has happened to it: {tell_missing(missing)}"
    return (
        "nothing has happened to it: is Metacontroller running? Its log and that of the hooks say why: "
        "kubectl get pods --all-namespaces | grep -E 'metacontroller|workloadrun'"
    )


def _list(cluster: Cluster, selector: str, output: str, *, all_namespaces: bool, no_color: bool) -> None:
    query = {"labelSelector": selector} if selector else {}
    pages = cluster.pages(API_VERSION, "WorkloadRun", query, namespace="" if all_namespaces else None)
    runs = [checked(run) for page in pages for run in understood(page, Page[dict[str, Any]]).items or ()]
    if output == "json":
        print_json({"workloadRuns": runs})
        return
    where = "" if all_namespaces else f" in namespace {cluster.namespace}"
    if not runs:
        print_note(f"there are no runs{where}")
        return
    terminal.stdout(no_color=no_color).print(_table(runs, datetime.now(UTC)))


def _table(runs: Iterable[Mapping[str, Any]], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("NAMESPACE", "NAME", "VERDICT", "GROUPS", "AGE"):
        table.add_column(heading, overflow="fold")
    for run in runs:
        metadata, status = run["metadata"], status_of(run)
        age = seconds_between(metadata.get("creationTimestamp"), now)
        progress = status.get("progress")
        words = (
            metadata.get("namespace", ""),
            metadata["name"],
            status.get("verdict", "under way"),
            progress_text(progress) if progress else "-",
            span_of_time(age) if age is not None else "-",
        )
        table.add_row(*map(printable, words))
    return table
