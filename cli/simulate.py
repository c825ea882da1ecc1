"""`workloadrun simulate`: a whole run in memory, under virtual time, by the admission and hooks of a real cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console

from cli.errors import CliError
from cli.hooking import admission, hooks
from cli.inputs import RunInput, print_refusal, print_warnings, read_nodes, read_run, read_scenario, shipped_profiles
from cli.output import print_json
from cli.run_view import view
from cli.simulator.entry import Change
from cli.simulator.errors import ApiError
from cli.simulator.report import Report
from cli.simulator.simulation import Refused, Simulation
from cli.text_report import print_report
from sync_hooks.api.duration import parse_duration
from sync_hooks.api.model import API_VERSION

START = datetime(2026, 1, 1, tzinfo=UTC)  # any moment: equal inputs print equal results
MOST_FOLLOWED = 20  # groups; of more, only the run's own progress is told

EXIT_BY_VERDICT = {"Passed": 0, "Failed": 1, "Incomplete": 3}
EXIT_REFUSED = 1
EXIT_NOT_ENDED = 4


@click.command(name="simulate")
@click.argument("file", metavar="FILE")
@click.option("--nodes", required=True, metavar="NODES", help="File of Node objects, or PLATFORM/ARCHxN (aws/h100x8).")
@click.option("--scenario", metavar="FILE", help="What happens to which Jobs; without one all succeed after 60s.")
@click.option("--until", default="48h", show_default=True, help="Virtual time after which to stop.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.option("--no-color", is_flag=True, help="Print without colours (also: NO_COLOR).")
def command(file: str, nodes: str, scenario: str | None, until: str, output: str, no_color: bool) -> int:  # noqa: FBT001
    """Play the WorkloadRun in FILE on NODES, in memory, under virtual time; - is stdin.

    Exits 0 if it passed, 1 if it failed or is refused, 3 if it is incomplete, 4 if it has not ended by --until.
    """
    seconds = parse_duration(until)
    if seconds is None:
        raise CliError(f"--until: {until!r} is no duration such as 90s or 48h")
    given, inventory, played = read_run(file), read_nodes(nodes), read_scenario(scenario)
    if not given.admitted.allowed:
        return _refuse(given, output)
    print_warnings(given)
    simulation = Simulation(inventory, played, hooks, START)
    console = Console(no_color=no_color or None, highlight=False, width=None if sys.stdout.isatty() else 120)
    if output == "text":
        _introduce(console, given)
        simulation.store.watch(_follower(console, simulation))
    report = _play(simulation, given, seconds)
    run = simulation.store.get(API_VERSION, "WorkloadRun", given.namespace, given.name).obj
    if output == "json":
        print_json(_document(run, report))
    else:
        print_report(console, view(run, report.objects))
    return EXIT_BY_VERDICT.get(_verdict(run), EXIT_NOT_ENDED)


def _refuse(given: RunInput, output: str) -> int:
    if output == "json":
        errors = [{"field": e.field, "type": e.type, "message": e.message} for e in given.admitted.errors]
        print_json({"error": {"message": f"{given.file}: the run is refused", "errors": errors}})
    else:
        print_refusal(given)
    return EXIT_REFUSED


def _play(simulation: Simulation, given: RunInput, seconds: float) -> Report:
    known = {profile["metadata"]["name"] for profile in given.others if profile["kind"] == "LogProfile"}
    profiles = [profile for profile in shipped_profiles() if profile["metadata"]["name"] not in known]
    try:
        simulation.apply([*profiles, *given.others, given.run], admission)
    except (Refused, ApiError) as error:
        raise CliError(f"{given.file}: {error}") from error
    return simulation.run(seconds, lambda: bool(_verdict(_run(simulation, given))))


def _run(simulation: Simulation, given: RunInput) -> dict[str, Any]:
    found = simulation.store.find(API_VERSION, "WorkloadRun", given.namespace, given.name)
    return found.obj if found else {}


def _verdict(run: dict[str, Any]) -> str:
    return str((run.get("status") or {}).get("verdict", ""))


def _document(run: dict[str, Any], report: Report) -> dict[str, Any]:
    return {
        "workloadRun": run,
        "objects": list(report.objects),
        "events": list(report.events),
        "virtualSeconds": report.virtual_seconds,
    }


def _introduce(console: Console, given: RunInput) -> None:
    """Show what admission added: it is the first thing that a cluster would do too."""
    before, after = given.written["spec"], given.run["spec"]
    for path, value in sorted(_added("spec", before, after)):
        console.print(f"admitted with {path}: {value}", markup=False)


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
        text = _run_line(status) if entry.kind.kind == "WorkloadRun" else _job_line(status, last)
        if text and last.get(entry.name) != text:
            last[entry.name] = text
            console.print(f"{simulation.clock.time:8.0f}s  {entry.name}  {text}", markup=False)

    return tell


def _run_line(status: dict[str, Any]) -> str:
    """Say where the run stands; what it waits for within a step is left out, it is over within a second."""
    true = [item for item in status.get("conditions") or () if item["status"] == "True"]
    short = [item["message"].partition("; ")[0] if item["type"] == "InProgress" else item["message"] for item in true]
    return "; ".join(f"{item['type']}: {text}" for item, text in zip(true, short, strict=True))


def _job_line(status: dict[str, Any], last: dict[str, str]) -> str:
    if len(last) > MOST_FOLLOWED:
        return ""
    true = [item["type"] for item in status.get("conditions") or () if item["status"] == "True"]
    ended = [name for name in true if name != "InProgress"]
    return ", ".join(ended) or str(status.get("workloadPhase", ""))
