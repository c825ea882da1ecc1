"""Runs kept in a file, one JSON document a line, and two of them compared: the last of each file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .table import aligned

NOTABLE = 0.2
"""A change of more than this share is pointed out: repeated runs on a busy machine differ by about half of it."""

Run = Mapping[str, Any]
"""One run, as `table.document` writes it."""


class NoHistory(Exception):
    """A file that holds no run."""


def default_file() -> Path:
    """Return where runs are kept: in the cache folder of this user."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "workloadrun" / "bench" / "history.jsonl"


def append(file: Path, run: Run) -> None:
    """Add a run; earlier ones are never touched."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as history:
        history.write(json.dumps(run, sort_keys=True) + "\n")


def newest_rows(file: Path) -> dict[str, Run]:
    """Return the newest row of every name, whichever run it is of. Raises NoHistory."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    found = {name: row for line in lines for name, row in _rows(json.loads(line))}
    if not found:
        raise NoHistory(f"{file} holds no run")
    return found


def _rows(run: Run) -> Iterator[tuple[str, Run]]:
    for group, rows in run["groups"].items():
        for row in rows:
            yield f"{group}: {row['name']}", row


def compare(old: Mapping[str, Run], new: Mapping[str, Run]) -> str:
    """Write what is in both: by the ratio where there is one, for another machine has another speed."""
    lines = [("what", "old", "new", "change", "")]
    for name in [name for name in new if name in old]:
        before, after = _number(old[name], new[name])
        change = after / before - 1 if before else 0.0
        mark = "look here" if abs(change) > NOTABLE else ""
        lines.append((name, f"{before:.4g}", f"{after:.4g}", f"{change:+.0%}", mark))
    return aligned(lines)


def _number(old: Run, new: Run) -> tuple[float, float]:
    field = "ratio" if old.get("ratio") is not None and new.get("ratio") is not None else "value"
    return float(old[field]), float(new[field])
