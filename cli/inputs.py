"""What commands that plan offline are given: one admitted run, nodes, a scenario. Every mistake in them is one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from cli.errors import CliError
from cli.manifests import Manifest, read_manifests
from cli.output import print_json, print_line, print_note
from cli.simulator import inventory, scenario
from cli.simulator.entry import Object
from cli.simulator.node import InventoryError
from cli.simulator.scenario import Scenario
from sync_hooks.admission.admit import Admitted, admit
from sync_hooks.admission.rules import kind_rules
from sync_hooks.api.errors import cut
from sync_hooks.api.model import API_VERSION

DEFAULT_NAMESPACE = "default"
PLAIN_KINDS = frozenset({("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "PersistentVolumeClaim")})


@dataclass(frozen=True, slots=True)
class RunInput:
    """One WorkloadRun as admission would store it, and the other objects of its file."""

    file: str
    written: dict[str, Any]
    """The run as its author wrote it."""
    run: dict[str, Any]
    """The run as admission would store it; as written where it is refused."""
    others: tuple[dict[str, Any], ...]
    admitted: Admitted

    @property
    def name(self) -> str:
        """The run's name."""
        return str(self.run["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The run's namespace."""
        return str(self.run["metadata"]["namespace"])


def read_run(file: str, namespace: str = DEFAULT_NAMESPACE, *, named: bool = True) -> RunInput:
    """Read a file with exactly one WorkloadRun. Raises CliError; a refused run is returned with its errors.

    Objects that name no namespace get ``namespace``. A run without a name of its own is taken where it need not be
    ``named``: the cluster will make one.
    """
    manifests = read_manifests(file)
    for manifest in manifests:
        _check_kind(manifest)
    runs = [item.object for item in manifests if item.object.get("kind") == "WorkloadRun"]
    if len(runs) != 1:
        raise CliError(f"{file}: must hold exactly one WorkloadRun, holds {len(runs)}")
    admitted = admit(runs[0])
    if not admitted.allowed:
        return RunInput(file, runs[0], runs[0], (), admitted)
    others = tuple(_in_namespace(item.object, namespace) for item in manifests if item.object is not runs[0])
    run = _in_namespace(admitted.object, namespace)
    if named and not run["metadata"].get("name"):
        raise CliError(f"{file}: metadata.name: a run is planned under its name, generateName has none yet")
    return RunInput(file, _in_namespace(runs[0], namespace), run, others, admitted)


def _check_kind(manifest: Manifest) -> None:
    version, kind = manifest.object.get("apiVersion"), manifest.object.get("kind")
    if kind_rules(version, kind) is None and (version, kind) not in PLAIN_KINDS:
        found = f"unknown kind {cut(kind)} of {cut(version)}"
        raise CliError(f"{manifest.file}: {found}; wanted is a WorkloadRun of {API_VERSION}")


def _in_namespace(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = obj.get("metadata") or {}
    if obj.get("kind") == "LogProfile":
        return obj
    return {**obj, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def print_refusal(given: RunInput, output: str = "text") -> None:
    """Print why a run is refused, as ``validate`` does, or as one JSON document."""
    if output == "json":
        errors = [{"field": e.field, "type": e.type, "message": e.message} for e in given.admitted.errors]
        print_json({"error": {"message": f"{given.file}: the run is refused", "errors": errors}})
        return
    for error in given.admitted.errors:
        print_line(f"{given.file}: {error.field}: {error.message}")


def tell_refusal(given: RunInput, message: str, output: str) -> None:
    """Print why something in the run's file is refused when it is created."""
    if output == "json":
        print_json({"error": {"message": f"{given.file}: {message}"}})
    else:
        print_line(f"{given.file}: {message}")


def print_warnings(given: RunInput) -> None:
    """Print what the author of a run should know, beside the result."""
    for warning in given.admitted.warnings:
        print_note(f"{given.file}: warning: {warning}")


def read_nodes(text: str) -> Sequence[Object]:
    """Read NODES: a file of Node objects or PLATFORM/ARCHxN. Raises CliError."""
    try:
        return inventory.load(text)
    except InventoryError as error:
        raise CliError(str(error)) from error


def read_scenario(path: str | None) -> Scenario:
    """Read a scenario file; without one everything succeeds. Raises CliError."""
    if path is None:
        return Scenario(())
    try:
        return scenario.load(Path(path))
    except scenario.ScenarioError as error:
        raise CliError(str(error)) from error


def shipped_profiles() -> tuple[dict[str, Any], ...]:
    """Return the LogProfiles that the chart installs, sorted by name."""
    folder = resources.files("sync_hooks.measurements").joinpath("profiles")
    texts = [entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    profiles: list[dict[str, Any]] = [yaml.safe_load(text) for text in texts]
    return tuple(sorted(profiles, key=lambda profile: str(profile["metadata"]["name"])))
