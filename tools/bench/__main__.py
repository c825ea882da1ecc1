"""Measure and print one table: ``python -m tools.bench [GROUP...] [-o json]``, or compare two histories.

Order: measure a group, keep it, go on with the next; print all. A group that cannot run here is named and left out.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from . import history
from .machine import describe
from .row import Row
from .table import as_json, document, text

GROUPS = (
    "admission",
    "decoding",
    "planning",
    "logs",
    "measuring",
    "simulator",
    "startup",
    "reports",
    "hooks",
    "orchestration",
)
"""Each a module beside this one, with ``rows()``; it is imported only when asked for."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; 2 where it is called wrongly, 1 where a group could not run. Missed targets are no error."""
    options = _parser().parse_args(arguments)
    if options.compare:
        return _compare(*options.compare)
    unknown = sorted(set(options.groups) - set(GROUPS))
    if unknown:
        print(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers under measurement are stopped too
    machine = describe()
    wanted = options.groups or list(GROUPS)
    measured: dict[str, list[Row]] = {}
    for name in wanted:
        rows = _measure(name)
        if rows is not None:
            measured[name] = rows
            history.append(options.history, document(machine, {name: rows}))
    print(as_json(machine, measured) if options.output == "json" else text(machine, measured))
    return 0 if len(measured) == len(wanted) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; none means all")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.add_argument("--history", type=Path, default=history.default_file(), help="where the run is appended")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two history files")
    return parser


def _measure(name: str) -> list[Row] | None:
    print(f"measuring {name}", file=sys.stderr)
    try:
        rows: list[Row] = importlib.import_module(f".{name}", __package__).rows()
    except Exception as error:
        print(f"{name} could not be measured: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    return rows


def _compare(old: Path, new: Path) -> int:
    try:
        print(history.compare(history.newest_rows(old), history.newest_rows(new)))
    except history.NoHistory as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
