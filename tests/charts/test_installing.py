"""What docs/installation.md and the README tell an operator to type is what the product is tested with."""

from __future__ import annotations

import re
import shlex

import yaml

from tests.charts.helm import CHART
from tests.cli.calling import call
from tests.cluster.versions import version_of

ROOT = CHART.parents[1]
INSTALLATION = (ROOT / "docs" / "installation.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text("utf-8")
APPLICATIONS = list(yaml.safe_load_all((ROOT / "examples" / "argocd" / "applications.yaml").read_text("utf-8")))
SOURCES = {item["metadata"]["name"]: item["spec"]["source"] for item in APPLICATIONS}


def commands(text: str, program: str) -> list[list[str]]:
    """Return the commands of a program in the indented blocks of a page, each as its words."""
    joined = text.replace("\\\n", " ")
    lines = re.findall(rf"(?m)^    ((?:\.venv/bin/)?{program} .*)$", joined)
    return [shlex.split(line, comments=True) for line in lines]


def test_metacontroller_and_trainer_are_installed_at_the_versions_that_are_tested() -> None:
    installed = {words[3]: words for words in commands(INSTALLATION, "helm") if words[1:3] == ["upgrade", "--install"]}
    for name, chart in (("metacontroller", "metacontroller-helm"), ("kubeflow-trainer", "kubeflow-trainer")):
        assert installed[name][4].rpartition("/")[2] == chart == SOURCES[name]["chart"]
        assert f"--version={SOURCES[name]['targetRevision']}" in installed[name]
    assert SOURCES["kubeflow-trainer"]["targetRevision"] == version_of("trainer").removeprefix("v")
    assert set(re.findall(r"\?ref=(v[0-9.]+)", INSTALLATION)) == {version_of("trainer")}
    assert f"JobSet {version_of('jobset').removeprefix('v').rpartition('.')[0]}" in INSTALLATION


def test_metacontrollers_values_are_those_of_the_example_for_argo_cd() -> None:
    blocks = [yaml.safe_load(block) for block in re.findall(r"(?s)\n```yaml\n(.*?)```", INSTALLATION)]
    assert SOURCES["metacontroller"]["helm"]["valuesObject"] in blocks


OFFLINE = ("init", "explain", "validate", "render", "simulate")


def test_what_the_readme_shows_without_a_cluster_works() -> None:
    shown = [words for words in commands(README, "workloadrun") if words[1] in OFFLINE]
    assert {words[1] for words in shown} == set(OFFLINE)
    for words in shown:
        asked = words[1 : words.index(">")] if ">" in words else words[1:]
        called = call(*(str(ROOT / word) if word.startswith("examples/") else word for word in asked))
        failing = "examples/scenarios/one-bad-node.yaml" in asked
        assert (called.code, "error" in called.err) == (1 if failing else 0, False), words


def test_the_ratios_of_the_readme_are_measured_ones() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line[:1] == "|"]
    ratios = [row[3] for row in rows if len(row) == 4 and re.fullmatch(r"[0-9.]+", row[3])]
    assert len(ratios) > 8
    assert [ratio for ratio in ratios if f"| {ratio}" not in PERFORMANCE] == []
