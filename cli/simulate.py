"""`workloadrun simulate`: a whole run in memory, under virtual time, by the admission and hooks of a real cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console

from cli import terminal
from cli.errors import CliError
from cli.estimate import estimate, lines
from cli.exits import FAILED, exit_of
from cli.hooking import admission, hooks, install_admission
from cli.inputs import (
    RunInput,
    print_refusal,
    print_warnings,
    read_nodes,
    read_run,
    read_scenario,
    shipped_profiles,
    tell_refusal,
)
from cli.options import NODES_HELP, check_stdin, chosen_file, color_option, file_argument, output_option, seconds_of
from cli.output import print_json, print_note, printable
from cli.progress import state_line
from cli.reporting.formats import ALL
from cli.reporting.printing import print_run
from cli.run_objects import RunObjects, of_simulation
from cli.run_view import view
from cli.simulator.entry import Change
from cli.simulator.errors import ApiError
from cli.simulator.report import Report
from cli.simulator.scenario import Rule, Scenario, unused_rules
from cli.simulator.simulation import HotLoop, Refused, Simulation
from sync_hooks.api.model import API_VERSION

START = datetime(2026, 1, 1, tzinfo=UTC)  # any moment: equal inputs print equal results
RUN_TIME_HELP = "How long workloads run that no rule of a scenario is about."
MOST_FOLLOWED = 20  # groups; of more, only the run's own progress is told


@click.command(name="simulate")
@file_argument
@click.option("--nodes", required=True, metavar="NODES", help=NODES_HELP)
@click.option(
    "--scenario", metavar="FILE", help="What happens to which Jobs (docs/cli.md), - is stdin; else all succeed."
)
@click.option("--run-time", metavar="DURATION", default="60s", show_default=True, help=RUN_TIME_HELP)
@click.option("--until", metavar="DURATION", default="48h", show_default=True, help="Virtual time after which to stop.")
@click.option("--estimate", "costs", is_flag=True, help="Print what it would cost: time, objects, API writes.")
@output_option(*ALL)
@color_option
def command(
    file: str | None,
    filename: str,
    nodes: str,
    scenario: str | None,
    run_time: str,
    until: str,
    costs: bool,  # noqa: FBT001 - click's flags
    output: str,
    no_color: bool,  # noqa: FBT001
) -> int:
    """Play the WorkloadRun in FILE on NODES, in memory, under virtual time; - is stdin.

    Exits 0 if it passed, 1 if it failed or is refused, 3 if it is incomplete, 4 if it has not ended by --until.
    """
    seconds, lasting = seconds_of("--until", until), seconds_of("--run-time", run_time)
    path = chosen_file(file, filename)
    check_stdin(**{"FILE": path, "--nodes": nodes, "--scenario": scenario})
    given, inventory, played = read_run(path), read_nodes(nodes), read_scenario(scenario)
    if not given.allowed:
        print_refusal(given, output)
        return FAILED
    print_warnings(given)
    simulation = Simulation(inventory, Scenario((*played.rules, Rule(after=lasting))), hooks, START)
    install_admission(simulation.store)
    console = terminal.stdout(no_color=no_color)
    if output == "text":
        _introduce(console, given)
        simulation.store.watch(_follower(console, simulation), "WorkloadRun", "Job")
    try:
        _apply(simulation, given)
    except (Refused, ApiError) as error:
        tell_refusal(given, str(error), output)
        return FAILED
    report = _play(simulation, given, seconds)
    run = simulation.store.get(API_VERSION, "WorkloadRun", given.namespace, given.name).obj
    found = of_simulation(run, report.objects, inventory)
    summed = estimate(report, len(found.jobs))
    unused = unused_rules(played, simulation.director.applied, {node["metadata"]["name"] for node in inventory})
    never = _tell_unused(scenario, unused)
    if output == "json":
        print_json({**_document(found, report), **({"estimate": summed} if costs else {}), **never})
    else:
        print_run(found, output, simulation.clock.now(), no_color=no_color)
    if costs:
        _tell_costs(console, summed, output)
    return exit_of(found.status)


def _apply(simulation: Simulation, given: RunInput) -> None:
    """Create the run with all that comes with it. Raises Refused and ApiError."""
    known = {profile["metadata"].get("name") for profile in given.others if profile["kind"] == "LogProfile"}
    profiles = [profile for profile in shipped_profiles() if profile["metadata"]["name"] not in known]
    simulation.apply([*profiles, *given.others, given.run], admission)


def _play(simulation: Simulation, given: RunInput, seconds: float) -> Report:
    try:
        return simulation.run(seconds, lambda: bool((_run(simulation, given).get("status") or {}).get("verdict")))
    except HotLoop as error:
        raise CliError(f"{given.file}: the simulation does not come to an end: {error}") from error


def _run(simulation: Simulation, given: RunInput) -> dict[str, Any]:
    found = simulation.store.find(API_VERSION, "WorkloadRun", given.namespace, given.name)
    return found.obj if found else {}


def _document(found: RunObjects, report: Report) -> dict[str, Any]:
    """Build what a report is in JSON, with all that a simulation knows beside it."""
    from cli.reporting.document import document

    return {
        "workloadRun": found.run,
        "objects": list(report.objects),
        "events": list(report.events),
        "virtualSeconds": report.virtual_seconds,
        **document(found.run, view(found)),
    }


KEYS: Mapping[str, str] = {
    "objects": "every object as it stands at the end, but for nodes and events",
    "events": "the events, in order of time",
    "virtualSeconds": "how long it took, in virtual seconds",
    "estimate": "with `--estimate`: `seconds`, `objects`, `apiWrites`, `apiWritesPerGroup`, `apiWriteBytes`, "
    "`hookCalls`, `largestHookRequestBytes`, `logBytesRead`",
    "rulesNeverApplied": "where there are any: each `rule` of the scenario that no Job met, with a `message`",
}
"""What the keys mean that a report does not have, for the documentation."""


def _tell_costs(console: Console, summed: Mapping[str, Any], output: str) -> None:
    """Print the estimate below a text, beside any other form; JSON has it already."""
    told = ["what it would cost a cluster:", *(f"  {line}" for line in lines(summed))]
    if output == "text":
        console.print("\n" + "\n".join(told))
    elif output != "json":
        for line in told:
            print_note(line)


def _tell_unused(scenario: str | None, unused: Mapping[str, str]) -> dict[str, Any]:
    """Name the rules of the scenario that no workload met; returns their part of the document."""
    for rule, why in unused.items():
        print_note(f"{scenario}: {rule} never applied: {why}")
    listed = [{"rule": rule, "message": why} for rule, why in unused.items()]
    return {"rulesNeverApplied": listed} if listed else {}


def _introduce(console: Console, given: RunInput) -> None:
    """Show what admission added: it is the first thing that a cluster would do too."""
    before, after = given.written["spec"], given.run["spec"]
    for path, value in sorted(_added("spec", before, after)):
        console.print(printable(f"admitted with {path}: {value}"))


def _added(path: str, before: Any, after: Any) -> list[tuple[str, Any]]:
    if not isinstance(after, dict):
        return []
    known = before if isinstance(before, dict) else {}
    found = []
    for key, value in after.items():
        if key not in known and not isinstance(value, dict):
            found.append((f"{path}.{key}", value))
        else:
            found += _added(f"{path}.{key}", known.get(key), value)
    return found


def _follower(console: Console, simulation: Simulation) -> Callable[[Change], None]:
    """Print one line a transition of the run, and of its Jobs where there are few."""
    last: dict[str, str] = {}

    def tell(change: Change) -> None:
        entry = change.entry
        if entry.kind.api_version != API_VERSION or entry.kind.kind not in ("WorkloadRun", "Job"):
            return
        status = entry.obj.get("status") or {}
        text = state_line(status) if entry.kind.kind == "WorkloadRun" else _job_line(status, last)
        if text and last.get(entry.name) != text:
            last[entry.name] = text
            console.print(printable(f"{simulation.clock.time:8.0f}s  {entry.name}  {text}"))

    return tell


def _job_line(status: dict[str, Any], last: dict[str, str]) -> str:
    if len(last) > MOST_FOLLOWED:
        return ""
    true = [item["type"] for item in status.get("conditions") or () if item["status"] == "True"]
    ended = [name for name in true if name != "InProgress"]
    return ", ".join(ended) or str(status.get("workloadPhase", ""))
