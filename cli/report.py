"""`workloadrun report`: what a run in a cluster found, in a form to read, to gate on or to send on."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from cli.completion import complete_runs
from cli.connection import connect
from cli.exits import exit_of
from cli.gathering import gather, read_run_object
from cli.options import ClusterFlags, cluster_options, color_option, output_option
from cli.reporting.formats import ALL
from cli.reporting.printing import print_run
from cli.run_status import status_of


@click.command(name="report")
@click.argument("name", shell_complete=complete_runs)
@cluster_options
@output_option(*ALL)
@color_option
def command(name: str, output: str, no_color: bool, **flags: str) -> int:  # noqa: FBT001 - click's flags
    """Print what the run NAME found: verdict and why, coverage, figures, groups and nodes, the worst first.

    nodes prints the plain names of failed nodes, one a line, for kubectl cordon. html is one page that needs nothing
    else, to send on; junit is for CI, markdown for an issue.

    Exits 0 if it passed, 1 if it failed, 3 if it is incomplete, 4 if it has not ended.
    """
    cluster = connect(ClusterFlags(**flags))
    run = read_run_object(cluster, name)
    print_run(gather(cluster, run), output, datetime.now(UTC), no_color=no_color)
    return exit_of(status_of(run))
