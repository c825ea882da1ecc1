"""Prints a run in the form that was asked for: the one place that knows all forms."""

from __future__ import annotations

from datetime import datetime

from cli import terminal
from cli.output import print_json, print_note, print_text
from cli.reporting.formats import FORMS
from cli.run_objects import RunObjects
from cli.run_view import view


def print_run(found: RunObjects, output: str, now: datetime, *, no_color: bool) -> None:
    """Print a run as text, JSON or one of `FORMS`; ``now`` is the end of groups that still run."""
    run = view(found)
    if output == "text":
        from cli.reporting.text import print_report

        print_report(terminal.stdout(no_color=no_color), run)
    elif output == "json":
        from cli.reporting.document import document

        print_json(document(found.run, run))
    else:
        for note in run.notes:
            print_note(f"not known: {note}")
        print_text(FORMS[output](run, now))
