"""`workloadrun validate`: what admission would say of the objects in files, from the same code, without a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from cli.errors import CliError
from cli.judging import Judged, judge_file
from cli.output import print_json, print_line, print_note

EXIT_REFUSED = 1


@click.command(name="validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(files: tuple[str, ...], output: str) -> int:
    """Say what admission would say of the objects in FILE..., without a cluster; - is stdin.

    Of ConfigMaps, Secrets and PersistentVolumeClaims beside a run only the metadata is judged.

    Exits 0 if all are allowed, 1 if any is refused, 2 if anything cannot be read or is of another kind.
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
            judged += judge_file(file)
        except CliError as error:
            problems.append(str(error))
    return judged, problems


def _result(one: Judged) -> dict[str, Any]:
    return {
        "file": one.manifest.file,
        "document": one.manifest.document,
        "kind": one.kind,
        "name": one.name,
        "allowed": one.admitted.allowed,
        "errors": one.errors,
        "warnings": list(one.admitted.warnings),
        "notJudged": list(one.not_judged),
        "object": one.admitted.object,
    }


def _print_text(judged: Sequence[Judged]) -> None:
    for one in judged:
        for line in one.lines:
            print_line(line)
        for warning in one.warnings:
            print_note(warning)
        if one.not_judged:
            print_note(f"{one.manifest.place}: not judged: {', '.join(one.not_judged)} of {one.kind} {one.name}")
        if one.admitted.allowed and sys.stderr.isatty():
            print_note(f"{one.manifest.place}: {one.kind} {one.name} is valid")
