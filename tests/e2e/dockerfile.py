"""Reads the Dockerfile and follows it without an engine: its steps are run in a root folder that stands for its base.

Understands what our Dockerfile says and refuses everything else, so that no step of it is left out unseen: two stages,
of which the last one only takes over what the first has made.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FROM_STAGE = "--from="


class NotUnderstood(Exception):
    """The Dockerfile says something that is not followed here."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Take files over, from the build context or from a stage of this name, into a path of the image."""

    sources: tuple[str, ...]
    target: str
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Run a command in a shell, in a directory, with all variables that were set before."""

    command: str
    directory: str
    environment: Mapping[str, str]


@dataclass(slots=True)
class Stage:
    """One stage: its steps in their order, and what is said of processes that start from it."""

    base: str
    name: str
    steps: list[Copy | Run] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    directory: str = "/"
    user: str = ""
    entrypoint: tuple[str, ...] = ()


def parse(text: str, path: str) -> list[Stage]:
    """Read a Dockerfile; ``path`` is the base's own PATH. Raises NotUnderstood."""
    stages: list[Stage] = []
    for instruction, rest in _instructions(text):
        if instruction == "FROM":
            base, *named = rest.split()
            stages.append(Stage(base, named[1] if named else "", environment={"PATH": path}))
        elif not stages:
            raise NotUnderstood(f"{instruction} before FROM")
        else:
            _read(stages[-1], instruction, rest)
    return stages


def _instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n", " ", "\n".join(lines))
    split = [line.strip().partition(" ") for line in whole.splitlines() if line.strip()]
    return [(word.upper(), rest.strip()) for word, _, rest in split]


def _read(stage: Stage, instruction: str, rest: str) -> None:
    match instruction:
        case "RUN":
            stage.steps.append(Run(rest, stage.directory, dict(stage.environment)))
        case "COPY":
            stage.steps.append(_copy(rest.split(), stage.directory))
        case "ENV":
            stage.environment |= _variables(rest, stage.environment)
        case "WORKDIR":
            stage.directory = rest
        case "USER":
            stage.user = rest
        case "ENTRYPOINT":
            stage.entrypoint = tuple(json.loads(rest))
        case "EXPOSE":
            pass  # says something to people
        case _:
            raise NotUnderstood(f"{instruction} {rest}")


def _copy(words: Sequence[str], directory: str) -> Copy:
    stage = ""
    if words[0].startswith("--"):
        if not words[0].startswith(FROM_STAGE):
            raise NotUnderstood(f"COPY {words[0]}")
        stage, words = words[0].removeprefix(FROM_STAGE), words[1:]
    *sources, target = words
    absolute = target if target.startswith("/") else f"{directory.rstrip('/')}/{target.removeprefix('./')}"
    return Copy(tuple(sources), absolute, stage)


def _variables(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in shlex.split(rest))
    return {name: re.sub(r"\$(\w+)", lambda match: known.get(match[1], ""), value) for name, _, value in pairs}
