"""Nodes and scenarios with a wrong value, or none, at any place: played, or refused in one line, never a fault."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import call

RUN = str(Path(__file__).parents[2] / "examples" / "exec-command.yaml")
NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.present": "true"}, "annotations": {"a": "b"}},
    "spec": {"providerID": "aws:///z/i-1", "unschedulable": False, "taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {
        "capacity": {"nvidia.com/gpu": "8"},
        "allocatable": {"nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
RULE = {
    "nodes": ["n"],
    "iteration": 1,
    "attempt": 0,
    "outcome": "Failed",
    "after": "5s",
    "log": "run.log",
    "exitCode": 1,
}
SCENARIO: dict[str, Any] = {"jobs": [RULE]}
WRONG: tuple[Any, ...] = (None, "foo", "", 5, -1, True, [], ["x"], [None], [{}], {}, {"x": None}, {"name": ["x"]})

Place = tuple[Any, ...]


def places(part: Any, above: Place = ()) -> Iterator[Place]:
    yield above
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inner:
        yield from places(value, (*above, key))


def broken(whole: dict[str, Any], place: Place) -> Iterator[Any]:
    """Yield the whole with each wrong value at a place, and without that place."""
    if not place:
        yield from WRONG
        return
    for value in (*WRONG, "absent"):
        changed = copy.deepcopy(whole)
        part: Any = changed
        for key in place[:-1]:
            part = part[key]
        if value == "absent":
            del part[place[-1]]
        else:
            part[place[-1]] = value
        yield changed


@pytest.mark.parametrize("words", [("simulate",), ("run", "--dry-run")], ids=" ".join)
@pytest.mark.parametrize("place", list(places(NODE)), ids=lambda place: ".".join(map(str, place)))
def test_whatever_nodes_are_given(tmp_path: Path, words: tuple[str, ...], place: Place) -> None:
    file = tmp_path / "nodes.yaml"
    for node in broken(NODE, place):
        file.write_text(yaml.safe_dump(node))
        played_or_refused(*words, RUN, "--nodes", str(file))


@pytest.mark.parametrize("place", list(places(SCENARIO)), ids=lambda place: ".".join(map(str, place)))
def test_whatever_scenario_is_given(tmp_path: Path, place: Place) -> None:
    file = tmp_path / "scenario.yaml"
    (tmp_path / "run.log").write_text("a line\n")
    for scenario in broken(SCENARIO, place):
        file.write_text(yaml.safe_dump(scenario))
        played_or_refused("simulate", RUN, "--nodes", "aws/h100x1", "--scenario", str(file))


def played_or_refused(*words: str) -> None:
    called = call(*words)
    assert "fault of workloadrun" not in called.err, words
    assert called.code in (0, 1, 2, 3, 4)
    if called.code == 2:
        assert (called.out, called.err.count("\n")) == ("", 1)
        assert called.err.startswith("error: ")


@pytest.mark.parametrize(
    ("part", "field", "key"),
    [("spec", "taints", "effect"), ("status", "conditions", "type"), ("status", "conditions", "status")],
)
def test_what_an_element_lacks_is_named(tmp_path: Path, part: str, field: str, key: str) -> None:
    node = copy.deepcopy(NODE)
    del node[part][field][0][key]
    file = tmp_path / "nodes.yaml"
    file.write_text(yaml.safe_dump(node))
    called = call("simulate", RUN, "--nodes", str(file))
    where = f"{part}.{field}[0].{key}"
    assert (called.code, called.err) == (2, f"error: {file}: node n: {where}: Required value: must be given\n")
