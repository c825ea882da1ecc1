"""`workloadrun run`: creates a run in a cluster, and waits for its verdict if asked; or shows what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.connection import Cluster, connect, understood
from cli.errors import CliError
from cli.exits import DONE, FAILED
from cli.following import follow_and_report, how_to_go_on
from cli.inputs import DEFAULT_NAMESPACE, RunInput, print_refusal, print_warnings, read_nodes, read_run
from cli.options import (
    NODES_HELP,
    ClusterFlags,
    check_stdin,
    chosen_file,
    cluster_options,
    color_option,
    file_argument,
    output_option,
    seconds_of,
)
from cli.output import print_json, print_line, print_note
from cli.parts import missing_parts, tell_missing
from cli.planning import show_plan
from cli.refusals import AlreadyExists, Refused
from cli.reporting.formats import ALL
from cli.run_status import checked


@click.command(name="run")
@file_argument
@click.option("-w", "--wait", is_flag=True, help="Wait for the verdict and print the report.")
@click.option(
    "--timeout", metavar="DURATION", default="", help="With --wait: wait no longer than this; the run goes on."
)
@click.option("--dry-run", is_flag=True, help="Print the plan for the cluster's nodes and create nothing.")
@click.option("--nodes", metavar="NODES", default="", help=f"With --dry-run: plan for these instead. {NODES_HELP}")
@cluster_options
@output_option(*ALL)
@color_option
def command(
    file: str | None,
    filename: str,
    wait: bool,  # noqa: FBT001 - click's flags
    timeout: str,
    dry_run: bool,  # noqa: FBT001
    nodes: str,
    output: str,
    no_color: bool,  # noqa: FBT001
    **flags: str,
) -> int:
    """Create the WorkloadRun in FILE, and what it needs and stands there too, in a cluster; - is stdin.

    That may be LogProfiles, ConfigMaps, Secrets and PersistentVolumeClaims.

    Exits 0 once it is created. With --wait: 0 if it passed, 1 if it failed, 3 if it is incomplete, 4 if it has not
    ended within --timeout. 1 if it is refused, or with --dry-run if it would end before anything is made.
    """
    path = chosen_file(file, filename)
    check_stdin(**{"FILE": path, "--nodes": nodes})
    if wait and dry_run:
        raise click.UsageError("--wait is about a run, and --dry-run makes none")
    if timeout and not wait:
        raise click.UsageError("--timeout is about --wait")
    if output not in ("text", "json") and not wait:
        remedy = ", and --dry-run has none" if dry_run else ": give --wait"
        raise click.UsageError(f"-o {output} is a form of report{remedy}")
    if nodes and not dry_run:
        raise click.UsageError("--nodes is about --dry-run: a run takes the nodes of its cluster")
    seconds = seconds_of("--timeout", timeout) if timeout else None
    chosen = ClusterFlags(**flags)
    chosen.check_namespace()
    cluster = None if nodes else connect(chosen)
    namespace = cluster.namespace if cluster else chosen.namespace or DEFAULT_NAMESPACE
    given = read_run(path, namespace, named=dry_run)
    if not given.allowed:
        print_refusal(given, output)
        return FAILED
    _check_namespace(given, chosen)
    print_warnings(given)
    if dry_run or cluster is None:
        return show_plan(given, read_nodes(nodes) if cluster is None else cluster, output)
    cluster = cluster.at(given.namespace)
    try:
        run = create(cluster, given)
    except Refused as error:
        return _refused_by_cluster(given, error, output)
    if wait:
        return follow_and_report(cluster, run, seconds, output, no_color=no_color)
    _print_created(cluster, run, output)
    return DONE


def create(cluster: Cluster, given: RunInput) -> Mapping[str, Any]:
    """Create a run and what else stands in its file; nothing where the cluster lacks a part or refuses the run."""
    if missing := missing_parts(cluster.served_groups()):
        raise CliError(tell_missing(missing))
    run = given.written
    try:
        if given.others:
            cluster.create(run, dry_run=True)  # before anything is made that would be left over
        for other in given.others:
            _create_other(cluster, other)
        created = checked(understood(cluster.create(run), dict[str, Any]))
    except AlreadyExists as error:
        name = run["metadata"].get("name", "")
        raise CliError(
            f"{error}; a run happens once: give another name, or first: workloadrun cancel {name}"
        ) from error
    return created


def _check_namespace(given: RunInput, flags: ClusterFlags) -> None:
    if flags.namespace and given.namespace != flags.namespace:
        own, asked = given.namespace, flags.namespace
        raise CliError(f"{given.file}: metadata.namespace is {own}, --namespace asks for {asked}")


def _create_other(cluster: Cluster, obj: Mapping[str, Any]) -> None:
    """Create an object that the run needs; one that is there already is used only where it is the same."""
    name, kind = obj["metadata"].get("name", ""), obj["kind"]
    try:
        cluster.create(obj)
    except AlreadyExists as error:
        stored = understood(
            cluster.get(obj["apiVersion"], kind, name, obj["metadata"].get("namespace")), dict[str, Any]
        )
        if any(stored.get(key) != value for key, value in obj.items() if key not in NOT_COMPARED):
            raise CliError(
                f"{kind} {name} exists already with other contents; delete it or use another name"
            ) from error
        print_note(f"{kind} {name} exists already and is the same")
    else:
        print_note(f"{kind} {name} created")


NOT_COMPARED = frozenset({"apiVersion", "kind", "metadata", "status"})


def _print_created(cluster: Cluster, run: Mapping[str, Any], output: str) -> None:
    if output == "json":
        print_json({"workloadRun": run})
        return
    print_line(f"{run['metadata']['namespace']}/{run['metadata']['name']}: created")
    print_note(how_to_go_on(cluster, run))


def _refused_by_cluster(given: RunInput, error: Refused, output: str) -> int:
    """Print what the cluster's own admission says; it may be newer than this command."""
    if output == "json":
        causes = [{"field": field, "type": type_, "message": text} for field, type_, text in error.causes]
        print_json({"error": {"message": str(error), **({"errors": causes} if causes else {})}})
    else:
        for field, _, text in error.causes or (("", "", str(error)),):
            print_line(f"{given.file}: {field}: {text}" if field else f"{given.file}: {text}")
    return FAILED
