"""What commands that plan offline are given: one admitted run, nodes, a scenario. Every mistake in them is one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from cli.errors import CliError
from cli.judging import Judged, judge_file
from cli.manifests import STDIN, read_text
from cli.output import print_json, print_line, print_note
from cli.simulator import inventory, scenario
from cli.simulator.entry import Object
from cli.simulator.node import InventoryError
from cli.simulator.scenario import Scenario

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class RunInput:
    """One WorkloadRun as admission would store it, and the other objects of its file."""

    file: str
    written: dict[str, Any]
    """The run as its author wrote it."""
    run: dict[str, Any]
    """The run as admission would store it; as written where anything in the file is refused."""
    others: tuple[dict[str, Any], ...]
    judged: tuple[Judged, ...]
    """Every object of the file, in order."""

    @property
    def allowed(self) -> bool:
        """Whether all that stands in the file may be stored."""
        return all(one.admitted.allowed for one in self.judged)

    @property
    def name(self) -> str:
        """The run's name."""
        return str(self.run["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The run's namespace."""
        return str(self.run["metadata"]["namespace"])


def read_run(file: str, namespace: str = DEFAULT_NAMESPACE, *, named: bool = True) -> RunInput:
    """Read a file with exactly one WorkloadRun. Raises CliError; what is refused is returned with its errors.

    Objects that name no namespace get ``namespace``. A run without a name of its own is taken where it need not be
    ``named``: the cluster will make one.
    """
    judged = tuple(judge_file(file))
    runs = [one for one in judged if one.kind == "WorkloadRun"]
    if len(runs) != 1:
        raise CliError(f"{file}: must hold exactly one WorkloadRun, holds {len(runs)}")
    written = runs[0].manifest.object
    given = RunInput(file, written, written, (), judged)
    if not given.allowed:
        return given
    run = _in_namespace(runs[0].admitted.object, namespace)
    if named and not run["metadata"].get("name"):
        place = runs[0].manifest.place
        raise CliError(f"{place}: metadata.name: a run is planned under its name, generateName has none yet")
    others = tuple(_in_namespace(one.manifest.object, namespace) for one in judged if one is not runs[0])
    return RunInput(file, _in_namespace(written, namespace), run, others, judged)


def _in_namespace(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = {name: _stored(part) for name, part in obj["metadata"].items() if part is not None}
    if obj["kind"] == "LogProfile":
        return {**obj, "metadata": metadata}
    return {**obj, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def _stored(part: Any) -> Any:
    """Return a part of metadata as the API server reads it: the null of a label or annotation is empty text."""
    return {key: "" if value is None else value for key, value in part.items()} if isinstance(part, dict) else part


def print_refusal(given: RunInput, output: str = "text") -> None:
    """Print why a run, or what stands beside it, is refused: as ``validate`` does, or as one JSON document."""
    refused = [one for one in given.judged if not one.admitted.allowed]
    if output == "json":
        errors = [{"document": one.manifest.document, **error} for one in refused for error in one.errors]
        named = "; ".join(f"{one.manifest.place}: {one.kind} {one.name}".rstrip() for one in refused)
        verb = "is" if len(refused) == 1 else "are"
        print_json({"error": {"message": f"{named} {verb} refused", "errors": errors}})
        return
    for line in (line for one in refused for line in one.lines):
        print_line(line)


def tell_refusal(given: RunInput, message: str, output: str) -> None:
    """Print why something in the run's file is refused when it is created."""
    if output == "json":
        print_json({"error": {"message": f"{given.file}: {message}"}})
    else:
        print_line(f"{given.file}: {message}")


def print_warnings(given: RunInput) -> None:
    """Print what the author of a run and of what stands beside it should know, beside the result."""
    for warning in (warning for one in given.judged for warning in one.warnings):
        print_note(warning)


def read_nodes(text: str) -> Sequence[Object]:
    """Read NODES: a file of Node objects, `-` is stdin, or PLATFORM/ARCHxN. Raises CliError."""
    try:
        return inventory.parse(read_text(STDIN).encode()) if text == STDIN else inventory.load(text)
    except InventoryError as error:
        raise CliError(f"{STDIN}: {error}" if text == STDIN else str(error)) from error


def read_scenario(path: str | None) -> Scenario:
    """Read a scenario file, `-` is stdin; without one everything succeeds. Raises CliError."""
    if path is None:
        return Scenario(())
    try:
        return scenario.parse(read_text(STDIN), Path()) if path == STDIN else scenario.load(Path(path))
    except scenario.ScenarioError as error:
        raise CliError(f"{STDIN}: {error}" if path == STDIN else str(error)) from error


def shipped_profiles() -> tuple[dict[str, Any], ...]:
    """Return the LogProfiles that the chart installs, sorted by name."""
    folder = resources.files("sync_hooks.measurements").joinpath("profiles")
    texts = [entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    profiles: list[dict[str, Any]] = [yaml.safe_load(text) for text in texts]
    return tuple(sorted(profiles, key=lambda profile: str(profile["metadata"]["name"])))
