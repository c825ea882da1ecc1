"""`workloadrun cancel`: deletes runs and, in the background, all that belongs to them, their results included."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import click

from cli.completion import complete_runs
from cli.connection import Cluster, connect
from cli.errors import CliError
from cli.exits import DONE, NOT_ENDED
from cli.gathering import list_metadata, read_run_object
from cli.options import ClusterFlags, cluster_options, output_option, seconds_of
from cli.output import print_json, print_line, print_note
from cli.refusals import NotFound, Unreachable
from sync_hooks.api.model import API_VERSION
from sync_hooks.api.names import LABEL_JOB, LABEL_WORKLOAD_RUN

POLL_SECONDS = 1.0
MOST_NAMED = 10


@click.command(name="cancel")
@click.argument("names", nargs=-1, metavar="NAME...", shell_complete=complete_runs)
@click.option("-l", "--selector", metavar="LABELS", default="", help="Delete all runs with these labels.")
@click.option("-w", "--wait", is_flag=True, help="Wait until their pods are gone and the nodes are free.")
@click.option("--timeout", metavar="DURATION", default="5m", show_default=True, help="Wait no longer than this.")
@cluster_options
@output_option("text", "json")
def command(
    names: tuple[str, ...],
    selector: str,
    wait: bool,  # noqa: FBT001 - click's flags
    timeout: str,
    output: str,
    **flags: str,
) -> int:
    """Delete the runs NAME... and all that belongs to them: pods, measurements, results.

    What a run found is gone with it: print its report first.

    Exits 0 once all are deleted, 4 if --wait and they are not gone in time.
    """
    if bool(names) == bool(selector):
        raise click.UsageError("give either NAME... or --selector")
    seconds = seconds_of("--timeout", timeout)
    cluster = connect(ClusterFlags(**flags))
    chosen = names or _selected(cluster, selector)
    for name in chosen:  # all are looked at first: nothing is deleted where one name is misspelt
        read_run_object(cluster, name)
    jobs = _jobs(cluster, chosen) if wait and _may_see_pods(cluster) else frozenset()
    for name in chosen:
        with suppress(NotFound):  # somebody else was faster
            cluster.delete(API_VERSION, "WorkloadRun", name)
        if output == "text":
            print_line(f"{cluster.namespace}/{name}: deleted")
    left = _wait(cluster, chosen, jobs, seconds) if wait else ()
    for what in left:
        print_note(f"{what} is not gone yet; kubectl describe it to see what holds it")
    if output == "json":
        print_json({"deleted": list(chosen), **({"left": list(left)} if wait else {})})
    return NOT_ENDED if left else DONE


def _selected(cluster: Cluster, selector: str) -> tuple[str, ...]:
    names = tuple(item.name for item in list_metadata(cluster, API_VERSION, "WorkloadRun", selector))
    if not names:
        raise CliError(f"there are no runs with labels {selector} in namespace {cluster.namespace}")
    return names


def _jobs(cluster: Cluster, runs: Sequence[str]) -> frozenset[str]:
    selector = f"{LABEL_WORKLOAD_RUN} in ({', '.join(runs)})"
    return frozenset(item.name for item in list_metadata(cluster, API_VERSION, "Job", selector))


def _wait(cluster: Cluster, runs: Sequence[str], jobs: frozenset[str], seconds: float) -> tuple[str, ...]:
    """Wait until the runs, their Workflows and the pods of their Jobs are gone; return what is left, the first ones."""
    deadline = time.monotonic() + seconds
    while left := [*_objects_left(cluster, runs), *_pods_left(cluster, jobs)]:
        if time.monotonic() >= deadline:
            break
        cluster.sleep(POLL_SECONDS)
    return tuple(left[:MOST_NAMED])


def _objects_left(cluster: Cluster, runs: Sequence[str]) -> Iterator[str]:
    for kind in ("WorkloadRun", "Workflow"):
        there = {item.name for item in list_metadata(cluster, API_VERSION, kind)}
        yield from (f"{kind} {name}" for name in runs if name in there)


def _pods_left(cluster: Cluster, jobs: frozenset[str]) -> Iterator[str]:
    pods = list_metadata(cluster, "v1", "Pod", LABEL_JOB) if jobs else []
    return (f"Pod {pod.name}" for pod in pods if (pod.labels or {}).get(LABEL_JOB) in jobs)


def _may_see_pods(cluster: Cluster) -> bool:
    try:
        list_metadata(cluster, "v1", "Pod", LABEL_JOB)
    except Unreachable:
        raise
    except CliError as error:
        print_note(f"it is not waited for pods: {error}")
        return False
    return True
