"""The page of rules names tests: each of them must exist, and no rule may be without one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/rules.md").read_text("utf-8")
RULES = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.endswith((" --- |", "| held by |"))]
NUMBERED = [line for line in RULES if re.match(r"\| [EW]\d+ ", line)]
NAMED = sorted(set(re.findall(r"`(tests/[^`]+)`", PAGE)))


@cache
def defined_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("named", NAMED)
def test_every_test_that_is_named_exists(named: str) -> None:
    file, _, test = named.partition("::")
    assert (ROOT / file).exists()
    assert not test or test in defined_in(file)


def test_every_numbered_rule_is_there_once() -> None:
    numbers = [row.split()[1] for row in NUMBERED]
    assert numbers == [f"E{number}" for number in range(1, 23)] + [f"W{number}" for number in range(1, 41)]


def test_every_rule_is_there_once_and_held_by_tests_alone() -> None:
    cells = [row.strip("| ").rsplit(" | ", 1) for row in RULES]
    assert len(cells) > len(NUMBERED)
    assert len({rule for rule, _ in cells}) == len(cells)
    for rule, held_by in cells:
        assert re.fullmatch(r"`tests/[^`]+`( `tests/[^`]+`)*", held_by), rule
