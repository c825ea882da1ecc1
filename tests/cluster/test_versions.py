"""The table of versions and the pins that are built from it say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.cluster.build import PINS
from tests.cluster.versions import KUBERNETES, MODULES, NEWEST_KUBERNETES, OLDEST_KUBERNETES, Module

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)


@each_module
def test_a_module_is_pinned_at_the_version_of_its_row(module: Module) -> None:
    assert f"\t{module.path} {module.version}" in required(module)


@each_module
def test_every_program_of_a_row_is_a_tool_of_its_pin(module: Module) -> None:
    text = (PINS / module.name / "go.mod").read_text()
    assert all(re.search(rf"^(tool |\t){re.escape(program.package)}$", text, re.M) for program in module.programs)


@each_module
def test_a_pin_has_the_hash_of_its_module(module: Module) -> None:
    assert f"{module.path} {module.version} h1:" in (PINS / module.name / "go.sum").read_text()


def test_no_pin_is_left_over() -> None:
    assert {path.name for path in PINS.iterdir()} == {module.name for module in MODULES}


def required(module: Module) -> list[str]:
    lines = (PINS / module.name / "go.mod").read_text().splitlines()
    return [
        line.partition(" //")[0] if line.startswith("\t") else "\t" + line.removeprefix("require ") for line in lines
    ]


# --- what is claimed

ROOT = Path(__file__).parents[2]


def minor(version: str) -> str:
    return version.rpartition(".")[0]


def test_the_chart_and_its_documentation_claim_the_versions_whose_api_servers_are_built() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "workloadrun" / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={minor(OLDEST_KUBERNETES)}.0-0"
    document = (ROOT / "docs" / "installation.md").read_text()
    assert f"| Kubernetes | {minor(OLDEST_KUBERNETES)} to {minor(NEWEST_KUBERNETES)} |" in document
    built = {program.name for module in MODULES for program in module.programs if program.purpose == "claim"}
    assert built == {f"kube-apiserver-{minor(version)}" for version in (OLDEST_KUBERNETES, NEWEST_KUBERNETES)}


def test_the_version_of_all_other_tests_is_between_them() -> None:
    versions = [OLDEST_KUBERNETES, KUBERNETES, NEWEST_KUBERNETES]
    assert versions == sorted(versions, key=lambda version: tuple(map(int, version.split("."))))
