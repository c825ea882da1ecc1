"""What is made from the values, and what the values promise."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import yaml

from tests.charts.helm import CHART

sys.path.append(str(CHART.parents[1] / "tools"))

from chart_readme import Undocumented, main, readme, rows

SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def test_the_readme_is_made_from_the_values() -> None:
    assert (CHART / "README.md").read_text() == readme()
    assert main(["--verify"]) == 0


def test_a_value_without_a_comment_is_refused() -> None:
    with pytest.raises(Undocumented, match=r"b\.d has no comment"):
        list(rows("# one\na: 1\nb:\n  # two\n  c: 1\n  d: 1\n"))


def test_a_comment_may_stand_for_all_below() -> None:
    assert list(rows("# one\n# more\na:\n  b: {c: 1}\n")) == ['| `a` | `{"b": {"c": 1}}` | one more |\n']


def closed(schema: dict[str, Any], path: str = "") -> list[str]:
    """Name the objects of a schema that would take any key, but for maps."""
    found = [path] if schema.get("properties") and schema.get("additionalProperties") is not False else []
    for name, part in schema.get("properties", {}).items():
        found += closed(part, f"{path}.{name}")
    return found


def test_the_schema_takes_no_key_that_it_does_not_know() -> None:
    assert closed(SCHEMA) == []


def test_the_schema_knows_every_value() -> None:
    def unknown(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> list[str]:
        missing = []
        for name, value in values.items():
            part = schema.get("properties", {}).get(name)
            if part is None:
                missing.append(f"{path}.{name}")
            elif isinstance(value, dict) and part.get("properties"):
                missing += unknown(value, part, f"{path}.{name}")
        return missing

    assert unknown(yaml.safe_load((CHART / "values.yaml").read_text()), SCHEMA) == []
