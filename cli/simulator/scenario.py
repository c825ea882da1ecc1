"""What is to happen to which workload: the YAML of ``simulate --scenario``, parsed to values. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from sync_hooks.api.duration import parse_duration
from sync_hooks.api.errors import Path as FieldPath
from sync_hooks.api.errors import cut, field_path

Outcome = Literal["Succeeded", "Failed", "Evicted", "Hang", "Unschedulable", "Suspended"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
OUTCOME_MEANINGS: Mapping[str, str] = {
    "Succeeded": "It ends as it should. The default.",
    "Failed": "A pod exits with `exitCode`: the first on any of `nodes`; without them the launcher or first worker.",
    "Evicted": "A pod is evicted: the first on any of `nodes`; without them the first worker.",
    "Hang": "It prints half of its lines and runs on until its time limit.",
    "Unschedulable": "Its pods wait for nodes, for `after` or for ever, and then succeed.",
    "Suspended": "A queue holds it, for `after` or for ever, and then it succeeds.",
}
FIELDS: Mapping[str, str] = {
    "nodes": "Which groups: those with one of these nodes. Without it all.",
    "iteration": "Which iteration, from 1. Without it all.",
    "attempt": "Which attempt of a Job, from 0. Without it all.",
    "outcome": "What happens, see below.",
    "after": "When it happens, counted from when all pods run, for example `90s`. Without it after 60s.",
    "log": "File, beside the scenario, with what the measured pod prints. Without it a sample of the test or training.",
    "exitCode": "Exit code of the pod that fails, 1 to 255. Without it 1.",
}
"""What outcomes and the fields of a rule mean, for the documentation."""


RUN_SECONDS = 60.0  # how long a workload runs where nothing else is said
LARGEST_EXIT_CODE = 255


class ScenarioError(Exception):
    """The scenario cannot be used; the text is one line: where and what would be accepted."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of ``jobs``. A selector that is not given matches everything."""

    outcome: Outcome = "Succeeded"
    nodes: frozenset[str] = frozenset()
    """Matches groups that share one of these; the first of them in the group is the one that fails."""
    iteration: int | None = None
    """Number from 1."""
    attempt: int | None = None
    """Number from 0."""
    after: float | None = None
    """Seconds that the workload runs, or stays unschedulable or suspended; None is the default (there: for ever)."""
    log: tuple[str, ...] | None = None
    """Lines that the measured pod prints; None is a sample."""
    exit_code: int = 1
    """Exit code of what fails."""

    def matches(self, nodes: frozenset[str], iteration: int, attempt: int) -> bool:
        """Tell whether this rule is about a workload on these nodes."""
        return (
            (not self.nodes or not self.nodes.isdisjoint(nodes))
            and self.iteration in (None, iteration)
            and self.attempt in (None, attempt)
        )


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rules in order; the first that matches counts, without one a workload succeeds."""

    rules: tuple[Rule, ...] = ()

    def rule(self, nodes: Iterable[str], iteration: int, attempt: int) -> Rule:
        """Find the rule of a workload."""
        number = self.number(nodes, iteration, attempt)
        return Rule() if number is None else self.rules[number]

    def number(self, nodes: Iterable[str], iteration: int, attempt: int) -> int | None:
        """Find the place of a workload's rule; None where none matches."""
        group = frozenset(nodes)
        matching = (number for number, rule in enumerate(self.rules) if rule.matches(group, iteration, attempt))
        return next(matching, None)


def unused_rules(scenario: Scenario, applied: Collection[int], nodes: Collection[str]) -> dict[str, str]:
    """Return the rules that no workload met, by their place in the file, and what may be wrong with each.

    A misspelt rule would let a run pass that it was written to fail. ``nodes`` are the names of all nodes.
    """
    return {
        f"jobs[{number}]": _why_unused(rule, nodes)
        for number, rule in enumerate(scenario.rules)
        if number not in applied
    }


def _why_unused(rule: Rule, nodes: Collection[str]) -> str:
    unknown = sorted(rule.nodes.difference(nodes))
    if unknown and len(unknown) == len(rule.nodes):
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        return f"there is no node {cut(unknown[0])}{more}"
    return "no Job that ran matches it, or an earlier rule came first"


def load(path: Path) -> Scenario:
    """Read a scenario file; log files are found beside it. Raises ScenarioError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: cannot be read: {_reason(error)}") from error
    try:
        return parse(text, path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


def parse(text: str, folder: Path) -> Scenario:
    """Read a scenario; relative log files are sought in ``folder``. Raises ScenarioError."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that is none, lists within lists
        raise ScenarioError(f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise ScenarioError("jobs: Required value: a scenario is a mapping with a list of jobs")
    for name in document:
        if name != "jobs":
            raise ScenarioError(f"{name}: Unsupported value: a scenario has only jobs")
    return Scenario(tuple(_rule(item, ("jobs", index), folder) for index, item in enumerate(document["jobs"])))


def _rule(item: Any, path: FieldPath, folder: Path) -> Rule:
    if not isinstance(item, dict):
        raise _error(path, item, "must be a mapping")
    for name in item:
        if name not in FIELDS:
            raise _error((*path, str(name)), item[name], f"unknown field, supported: {', '.join(FIELDS)}")

    def field(name: str, read: Callable[[Any, FieldPath], Any], default: Any) -> Any:
        return read(item[name], (*path, name)) if name in item else default

    return Rule(
        outcome=field("outcome", _outcome, "Succeeded"),
        nodes=field("nodes", _nodes, frozenset()),
        iteration=field("iteration", lambda value, at: _number(value, at, 1), None),
        attempt=field("attempt", lambda value, at: _number(value, at, 0), None),
        after=field("after", _seconds, None),
        log=field("log", lambda value, at: _log(value, at, folder), None),
        exit_code=field("exitCode", _exit_code, 1),
    )


def _outcome(value: Any, path: FieldPath) -> Outcome:
    found = next((outcome for outcome in OUTCOMES if outcome == value), None)
    if found is None:
        raise _error(path, value, f"supported values: {', '.join(OUTCOMES)}")
    return found


def _nodes(value: Any, path: FieldPath) -> frozenset[str]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
        raise _error(path, value, "must be a list of node names")
    return frozenset(value)


def _number(value: Any, path: FieldPath, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _error(path, value, f"must be a whole number of at least {least}")
    return value


def _exit_code(value: Any, path: FieldPath) -> int:
    code = _number(value, path, 1)
    if code > LARGEST_EXIT_CODE:
        raise _error(path, value, f"must be at most {LARGEST_EXIT_CODE}")
    return code


def _seconds(value: Any, path: FieldPath) -> float:
    seconds = parse_duration(value) if isinstance(value, str) else None
    if seconds is None or seconds < 0:
        raise _error(path, value, 'must be a duration like "90s", "5m" or "1h30m"')
    return seconds


def _log(value: Any, path: FieldPath, folder: Path) -> tuple[str, ...]:
    if not isinstance(value, str) or not value:
        raise _error(path, value, "must be the name of a file")
    try:
        text = (folder / value).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise _error(path, value, f"cannot be read: {_reason(error)}") from error
    return tuple(text.splitlines())


def _error(path: FieldPath, value: Any, message: str) -> ScenarioError:
    return ScenarioError(f'{field_path(path)}: Invalid value: "{cut(value)}": {message}')


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or " ".join(str(error).split())
