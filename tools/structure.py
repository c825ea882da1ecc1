"""Check that functions and files stay small enough to be read at once; long ones are named, too long ones fail.

Counts a function from its `def` to its last line without its docstring, a file as a whole. Has no list of exceptions.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("webhook", "sync_hooks", "certs", "cli", "tools", "tests")
FUNCTION_LINES = (40, 60)
"""More than the first is said, more than the second fails."""
FILE_LINES = (200, 400)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something longer than it should be."""

    place: str
    what: str
    lines: int
    limits: tuple[int, int]

    @property
    def fails(self) -> bool:
        """Whether it is longer than it may be."""
        return self.lines > self.limits[1]

    def __str__(self) -> str:
        verdict = f"more than {self.limits[1]}" if self.fails else f"over {self.limits[0]}, fails over {self.limits[1]}"
        return f"{self.place}: {self.what} has {self.lines} lines: {verdict}"


def findings(name: str, source: str) -> Iterator[Finding]:
    """Return what is too long in one file of Python, the file itself first."""
    yield from _long(name, "file", source.count("\n"), FILE_LINES)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _long(f"{name}:{node.lineno}", node.name, _length(node), FUNCTION_LINES)


def _long(place: str, what: str, lines: int, limits: tuple[int, int]) -> Iterator[Finding]:
    if lines > limits[0]:
        yield Finding(place, what, lines, limits)


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    documented = ast.get_docstring(function, clean=False) is not None
    return _lines(function) - (_lines(function.body[0]) if documented else 0)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main(folders: Iterable[str] = FOLDERS) -> int:
    """Print what is long and return 1 if anything is too long."""
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    found = [finding for path in files for finding in findings(str(path), path.read_text())]
    for finding in sorted(found, key=lambda finding: (finding.fails, -finding.lines, finding.place)):
        print(finding)
    failed = sum(finding.fails for finding in found)
    print(f"structure: {len(files)} files, {len(found) - failed} long, {failed} too long")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or FOLDERS))
