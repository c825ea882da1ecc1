"""A report of 2,500 groups in every form, against writing the same objects as JSON.

Measured from the objects in memory to the finished text: reading them from a cluster and start-up are not part of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import msgspec

from cli.reporting.formats import FORMS
from cli.run_objects import of_simulation
from cli.run_view import view
from tests.cli.made import Object, made

from .rounds import alternate, cpu_of
from .row import Row, below, compared, watched

NODES = 5000
MOST_SECONDS = 3.0
MOST_MEGABYTES = 5.0
REFERENCE = "the objects as JSON"
NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def rows() -> list[Row]:
    """Measure every form, and the size of the page."""
    run, objects, nodes = made(f"aws/gb200x{NODES}", tail="NCCL WARN\n" * 400)
    parties = {form: cpu_of(partial(_report, form, run, objects, nodes)) for form in FORMS}
    parties[REFERENCE] = cpu_of(lambda: msgspec.json.encode([run, *objects, *nodes]))
    measured = alternate(parties, rounds=3)
    other = measured.median(REFERENCE)
    found = [
        compared(
            f"{form} of {NODES // 2} groups",
            measured.median(form),
            "s CPU",
            REFERENCE,
            other,
            measured.ratio(form, REFERENCE),
            below(MOST_SECONDS),
        )
        for form in FORMS
    ]
    size = len(_report("html", run, objects, nodes).encode()) / 1e6
    return [*found, watched("size of the page", size, "MB", below(MOST_MEGABYTES))]


def _report(form: str, run: Object, objects: list[Object], nodes: list[Object]) -> str:
    return FORMS[form](view(of_simulation(run, objects, nodes)), NOW)
