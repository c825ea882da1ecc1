"""`workloadrun validate`: what admission would say of the objects in files, from the same code, without a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from cli.errors import CliError
from cli.manifests import Manifest, read_manifests
from cli.output import print_json, print_line, print_note
from sync_hooks.admission.admit import Admitted, admit
from sync_hooks.admission.rules import kind_rules, known_kinds
from sync_hooks.api.errors import cut
from sync_hooks.api.model import API_VERSION

EXIT_REFUSED = 1


@dataclass(frozen=True, slots=True)
class Judged:
    """An object of a file and what admission says of it."""

    manifest: Manifest
    admitted: Admitted

    @property
    def kind(self) -> str:
        """Kind of the object."""
        return str(self.manifest.object.get("kind", ""))

    @property
    def name(self) -> str:
        """Name of the object, or what its name will begin with."""
        metadata = self.manifest.object.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        return str(fields.get("name") or fields.get("generateName") or "")


@click.command(name="validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(files: tuple[str, ...], output: str) -> int:
    """Say what admission would say of the objects in FILE..., without a cluster; - is stdin.

    Exits 0 if all are allowed, 1 if any is refused, 2 if anything cannot be read.
    """
    judged, problems = _judge_all(files)
    if output == "json" and not problems:
        print_json({"results": [_result(one) for one in judged]})
    elif output == "text":
        _print_text(judged)
    if problems:
        for problem in problems[:-1]:
            print_note(f"error: {problem}")
        raise CliError(problems[-1])
    return 0 if all(one.admitted.allowed for one in judged) else EXIT_REFUSED


def _judge_all(files: Sequence[str]) -> tuple[list[Judged], list[str]]:
    """Judge every object of every file that can be read, and say of the others why not."""
    judged: list[Judged] = []
    problems: list[str] = []
    for file in files:
        try:
            judged += [_judge(manifest) for manifest in read_manifests(file)]
        except CliError as error:
            problems.append(str(error))
    return judged, problems


def _judge(manifest: Manifest) -> Judged:
    """Judge one object. Raises CliError for a kind that is none of ours."""
    version, kind = manifest.object.get("apiVersion"), manifest.object.get("kind")
    if kind_rules(version, kind) is None:
        ours = f"{', '.join(known_kinds())} of {API_VERSION}"
        raise CliError(f"{manifest.file}: unknown kind {cut(kind)} of {cut(version)}; known are {ours}")
    return Judged(manifest, admit(manifest.object))


def _result(one: Judged) -> dict[str, Any]:
    return {
        "file": one.manifest.file,
        "kind": one.kind,
        "name": one.name,
        "allowed": one.admitted.allowed,
        "errors": [{"field": e.field, "type": e.type, "message": e.message} for e in one.admitted.errors],
        "warnings": list(one.admitted.warnings),
        "object": one.admitted.object,
    }


def _print_text(judged: Sequence[Judged]) -> None:
    for one in judged:
        for error in one.admitted.errors:
            print_line(f"{one.manifest.file}: {error.field}: {error.message}")
        for warning in one.admitted.warnings:
            print_note(f"{one.manifest.file}: warning: {warning}")
        if one.admitted.allowed and sys.stderr.isatty():
            print_note(f"{one.manifest.file}: {one.kind} {one.name} is valid")
