"""The shapes that other tests use for "every platform": no row of the table is left out."""

from __future__ import annotations

from sync_hooks.overrides.table import ANY_PLATFORM, rows_of, table_platforms
from sync_hooks.planning.plan import RunIdentity
from tests.support.runs import FRAMEWORKS
from tests.support.shapes import SHAPES, plan_on


def test_the_shapes_meet_every_row() -> None:
    every = {source for platform in (ANY_PLATFORM, *table_platforms()) for source, _ in rows_of(platform)}
    met = {
        applied["source"]
        for shape in SHAPES.values()
        for framework in FRAMEWORKS
        for applied in plan_on(shape, framework, RunIdentity("demo", "default")).applied_overrides
    }
    assert every - met == set()
