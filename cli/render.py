"""`workloadrun render`: every object that a run would create for an inventory. Nothing is applied."""

from __future__ import annotations

from typing import Any

import click

from cli.exits import DONE, FAILED
from cli.inputs import print_refusal, print_warnings, read_nodes, read_run
from cli.manifest import yaml_of
from cli.options import NODES_HELP, check_stdin, chosen_file, file_argument
from cli.output import print_json, print_note, print_text
from cli.plan_view import plan_view
from cli.planning import nodes_of, plan_on
from cli.reporting.plan import lines
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable
from sync_hooks.planning.trainjob import render_train_job


@click.command(name="render")
@file_argument
@click.option("--nodes", required=True, metavar="NODES", help=NODES_HELP)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How to print.")
def command(file: str | None, filename: str, nodes: str, output: str) -> int:
    """Print every object that the WorkloadRun in FILE would create on NODES, first attempts only; - is stdin.

    The plan is told first, on stderr. Exits 0, or 1 if the run is refused or cannot be placed.
    """
    path = chosen_file(file, filename)
    check_stdin(**{"FILE": path, "--nodes": nodes})
    given, inventory = read_run(path), read_nodes(nodes)
    if not given.allowed:
        print_refusal(given, output)
        return FAILED
    print_warnings(given)
    planned = plan_on(nodes_of(inventory), given)
    for line in lines(plan_view(planned)):
        print_note(f"{given.file}: {line}")
    if isinstance(planned, Unplannable):
        if output == "json":
            print_json({"error": {"message": f"{given.file}: {planned.reason}: {planned.message}"}})
        return FAILED
    document = {
        "apiVersion": "v1",
        "kind": "List",
        "items": _objects(planned, RunIdentity(given.name, given.namespace)),
    }
    if output == "json":
        print_json(document)
    else:
        print_text(yaml_of(document))
    return DONE


def _objects(plan: Plan, identity: RunIdentity) -> list[dict[str, Any]]:
    """Objects that exist once, then each group's Job, what the Job brings of its own, and its TrainJob."""
    objects: list[dict[str, Any]] = [*([plan.runtime] if plan.runtime else []), *plan.shared]
    for iteration in range(1, plan.iterations + 1):
        for group in range(len(plan.groups)):
            job = render_job(plan, identity, identity.name, group, iteration)
            metadata, spec = job["metadata"], job["spec"]
            objects += [job, *spec.get("dependencies", ())]
            objects.append(render_train_job(metadata["name"], identity.namespace, spec, metadata["labels"], 0))
    return objects
