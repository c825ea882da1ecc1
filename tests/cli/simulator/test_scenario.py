"""Scenarios: what a file means, and one line for everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.simulator.scenario import Rule, Scenario, ScenarioError, load, parse


def test_every_field_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\ntwo\n")
    text = """
    jobs:
    - nodes: [n1, n2]
      iteration: 2
      attempt: 0
      outcome: Failed
      after: 1h30m
      log: a.log
      exitCode: 124
    - {}
    """
    assert parse(text, tmp_path) == Scenario(
        (Rule("Failed", frozenset({"n1", "n2"}), 2, 0, 5400.0, ("one", "two"), 124), Rule())
    )


def test_a_log_may_be_absolute_and_need_not_be_utf_8(tmp_path: Path) -> None:
    log = tmp_path / "raw.log"
    log.write_bytes(b"\xff\n")
    scenario = parse(f"jobs: [{{log: '{log}'}}]", Path("/nowhere"))
    assert scenario.rules[0].log == ("�",)


@pytest.mark.parametrize(
    ("nodes", "iteration", "attempt", "found"),
    [
        ({"n1", "n9"}, 1, 0, "Failed"),
        ({"n1"}, 2, 0, "Hang"),
        ({"n3"}, 2, 0, "Hang"),
        ({"n3"}, 1, 1, "Evicted"),
        ({"n3"}, 1, 0, "Succeeded"),
    ],
    ids=["shares-a-node", "other-iteration", "no-nodes-asked", "attempt", "none"],
)
def test_the_first_rule_that_matches_counts(nodes: set[str], iteration: int, attempt: int, found: str) -> None:
    scenario = Scenario(
        (
            Rule("Failed", nodes=frozenset({"n1", "n2"}), iteration=1),
            Rule("Hang", iteration=2),
            Rule("Evicted", attempt=1),
        )
    )
    assert scenario.rule(nodes, iteration, attempt).outcome == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "not YAML: "),
        ("jobs: [{after: 2026-13-45}]", "not YAML: "),
        ("{a: " * 5000, "not YAML: "),
        ("", "jobs: Required value"),
        ("jobs: {}", "jobs: Required value"),
        ("jobs: []\nmore: 1", "more: Unsupported value"),
        ("jobs: [1]", 'jobs[0]: Invalid value: "1": must be a mapping'),
        ("jobs: [{}, {node: n}]", 'jobs[1].node: Invalid value: "n": unknown field, supported: nodes, iteration'),
        ("jobs: [{outcome: Fail}]", 'jobs[0].outcome: Invalid value: "Fail": supported values: Succeeded, Failed'),
        ("jobs: [{outcome: [Failed]}]", "jobs[0].outcome"),
        ("jobs: [{nodes: n1}]", "jobs[0].nodes: Invalid value"),
        ("jobs: [{nodes: []}]", "jobs[0].nodes: Invalid value"),
        ("jobs: [{iteration: 0}]", "jobs[0].iteration: Invalid value"),
        ("jobs: [{iteration: true}]", "jobs[0].iteration: Invalid value"),
        ("jobs: [{attempt: -1}]", "jobs[0].attempt: Invalid value"),
        ("jobs: [{after: 90}]", 'jobs[0].after: Invalid value: "90": must be a duration'),
        ("jobs: [{after: -5s}]", "jobs[0].after: Invalid value"),
        ("jobs: [{exitCode: 0}]", "jobs[0].exitCode: Invalid value"),
        ("jobs: [{exitCode: 256}]", "jobs[0].exitCode: Invalid value"),
        ("jobs: [{log: missing.log}]", 'jobs[0].log: Invalid value: "missing.log": cannot be read: No such file'),
        ("jobs: [{log: ''}]", "jobs[0].log: Invalid value"),
    ],
)
def test_what_is_wrong_is_one_line_that_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(text, tmp_path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_is_named_in_its_errors_and_logs_lie_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    with pytest.raises(ScenarioError, match=r"scenario\.yaml: cannot be read: No such file"):
        load(file)
    file.write_text("jobs: [{log: a.log}]")
    with pytest.raises(ScenarioError, match=r"scenario\.yaml: jobs\[0\]\.log"):
        load(file)
    (tmp_path / "a.log").write_text("x")
    assert load(file).rules[0].log == ("x",)
    file.write_bytes(b"\xff")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(file)
