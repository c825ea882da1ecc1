"""`workloadrun render`: every object that a run would create for an inventory. Nothing is applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec
import yaml

from cli.errors import CliError
from cli.inputs import RunInput, print_refusal, print_warnings, read_nodes, read_run
from cli.output import print_json, print_note, print_text
from cli.simulator.entry import Object
from sync_hooks.api.observed import Node
from sync_hooks.api.workloadrun import WorkloadRunSpec
from sync_hooks.planning.build import build
from sync_hooks.planning.job import render_job
from sync_hooks.planning.plan import Plan, RunIdentity, Unplannable
from sync_hooks.planning.trainjob import render_train_job

EXIT_REFUSED = 1


@click.command(name="render")
@click.argument("file", metavar="FILE")
@click.option("--nodes", required=True, metavar="NODES", help="File of Node objects, or PLATFORM/ARCHxN (aws/h100x8).")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How to print.")
def command(file: str, nodes: str, output: str) -> int:
    """Print every object that the WorkloadRun in FILE would create on NODES, first attempts only; - is stdin.

    Exits 0, or 1 if the run is refused or cannot be placed.
    """
    given, inventory = read_run(file), read_nodes(nodes)
    if not given.admitted.allowed:
        print_refusal(given)
        return EXIT_REFUSED
    print_warnings(given)
    identity = RunIdentity(given.name, given.namespace)
    plan = build(identity, WorkloadRunSpec.model_validate(given.run["spec"]), _nodes(inventory))
    if isinstance(plan, Unplannable):
        print_note(f"{given.file}: {plan.reason}: {plan.message}")
        return EXIT_REFUSED
    _explain(given, plan)
    document = {"apiVersion": "v1", "kind": "List", "items": _objects(plan, identity)}
    if output == "json":
        print_json(document)
    else:
        print_text(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=120))
    return 0


def _nodes(inventory: Sequence[Object]) -> list[Node]:
    try:
        return [msgspec.convert(node, Node) for node in inventory]
    except msgspec.ValidationError as error:
        raise CliError(f"the nodes cannot be read: {error}") from error


def _explain(given: RunInput, plan: Plan) -> None:
    print_note(f"{given.file}: {plan.platform}, {plan.architecture}, {plan.gpus_per_node} GPUs a node")
    for name, reason in plan.exclusions:
        print_note(f"{given.file}: node {name} excluded: {reason}")
    for row in plan.applied_overrides:
        changed = ", ".join(row.get("changed") or ()) or "nothing"
        print_note(f"{given.file}: {row['source']} changed {changed}")
    for warning in plan.warnings:
        print_note(f"{given.file}: warning: {warning}")


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
