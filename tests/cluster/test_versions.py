"""The table of versions and the pins that are built from it say the same."""

from __future__ import annotations

import re

import pytest

from tests.cluster.build import PINS
from tests.cluster.versions import MODULES, Module

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
