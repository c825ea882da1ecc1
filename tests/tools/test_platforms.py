"""The page of the platform table tells all of it."""

from __future__ import annotations

from sync_hooks.overrides.table import ANY_PLATFORM, rows_of, table_platforms
from tools.platforms import page


def test_every_row_and_its_reason_are_on_the_page() -> None:
    text = page()
    rows = [found for platform in (ANY_PLATFORM, *table_platforms()) for found in rows_of(platform)]
    assert [source for source, row in rows if f"### {source}\n\n{row.why}\n" not in text] == []


def test_what_a_row_is_for_is_said_in_words() -> None:
    text = page()
    where = text.partition("### aws/no-net-plugin\n")[2].partition("```")[0]
    assert "Where: GPU architecture gb300; framework mpi." in where
