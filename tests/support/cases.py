"""Golden cases: a folder tells in its name what should happen, and holds what goes in and what must come out.

    tests/cases/<hook>/<topic>/<sentence>/*.yaml

Everything is compared whole; a difference is shown as YAML. With CASES_REWRITE=1 the expected files are written anew,
and whoever runs that reads the difference before keeping it.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent / "cases"
REWRITE = os.environ.get("CASES_REWRITE") == "1"
LONGEST_LINE = 120


@dataclass(frozen=True)
class Case:
    """One folder."""

    folder: Path

    @property
    def name(self) -> str:
        """Topic and sentence."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    def load(self, file: str) -> Any:
        """Read one input; a file of several documents gives a list."""
        documents = list(yaml.safe_load_all((self.folder / f"{file}.yaml").read_text(encoding="utf-8")))
        return documents[0] if len(documents) == 1 else documents

    def has(self, file: str) -> bool:
        """Tell whether the folder holds a file of this name."""
        return (self.folder / f"{file}.yaml").exists()

    def expect(self, file: str, actual: Any) -> None:
        """Compare a result with what the folder says, or write it there."""
        path, written = self.folder / f"{file}.yaml", dump(actual)
        if REWRITE:
            path.write_text(written, encoding="utf-8")
            return
        wanted = path.read_text(encoding="utf-8") if path.exists() else ""
        if yaml.safe_load(wanted) != yaml.safe_load(written):
            lines = difflib.unified_diff(
                wanted.splitlines(), written.splitlines(), str(path.name), "actual", lineterm=""
            )
            pytest.fail(f"{self.name}\n" + "\n".join(lines), pytrace=False)


def cases(hook: str) -> list[Any]:
    """Return the cases of a hook as parameters of a test, in order, named by topic and sentence."""
    folders = sorted(path for path in (ROOT / hook).glob("*/*") if path.is_dir())
    assert folders, f"no cases of {hook}"
    return [pytest.param(Case(folder), id=f"{folder.parent.name}/{folder.name}") for folder in folders]


def dump(value: Any) -> str:
    """Write YAML for people: text of several lines as blocks, no anchors, keys in the order in which they were set."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=LONGEST_LINE, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = "|" if "\n" in data else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _text)
