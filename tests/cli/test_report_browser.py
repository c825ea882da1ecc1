"""The HTML report in a real browser: silent console, nothing loaded, nothing cut off, prints, and stays light at scale.

Also holds JUnit results against a schema, with the program that the e2e machine has for it. Screenshots stay in pytest
its temporary folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.reporting.formats import FORMS
from cli.run_objects import of_simulation
from cli.run_view import view
from tests.cli.browser import Page, browser, program
from tests.cli.made import made
from tests.cli.test_report_forms import GOODPUT, HOSTILE, hostile, run_view

pytestmark = pytest.mark.e2e

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
SCHEMA = Path(__file__).with_name("junit.xsd")


def require(found: str | None, what: str) -> str:
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed")
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    require(program(), "Chromium")
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


def written(folder: Path, text: str) -> Path:
    file = folder / "report.html"
    file.write_text(text, "utf-8")
    return file


def test_it_opens_in_silence_and_loads_nothing_but_itself(page: Page, tmp_path: Path) -> None:
    file = written(tmp_path, FORMS["html"](run_view(**GOODPUT), NOW))
    page.open(file)
    assert page.complaints() == []
    assert page.requests() == [file.as_uri()]
    assert len(page.screenshot(tmp_path / "report.png")) > 100_000  # a blank page is a tenth of that


def test_every_section_and_picture_is_drawn(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, FORMS["html"](run_view(**GOODPUT), NOW)))
    sizes = page.evaluate(
        "[...document.querySelectorAll('section, svg[role=img]')].map(e => [e.id || e.getAttribute('aria-label'), "
        "e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert len(sizes) > 20
    assert [name for name, width, height in sizes if width < 10 or height < 5] == []


@pytest.mark.parametrize("width", [1200, 640])
def test_nothing_is_wider_than_the_window(page: Page, tmp_path: Path, width: int) -> None:
    page.open(written(tmp_path, FORMS["html"](run_view(**GOODPUT), NOW)), width=width)
    page.screenshot(tmp_path / f"report-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_text_does_nothing(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, FORMS["html"](hostile(), NOW)))
    assert page.complaints() == []
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
    shown = page.evaluate("document.querySelector('ul.why').textContent")
    assert "<script>alert(1)</script>" in shown
    assert "\\x1b[2J" in shown
    assert HOSTILE not in shown


def test_those_who_do_not_see_it_are_told_the_same(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, FORMS["html"](run_view(**GOODPUT), NOW)))
    page.call("Accessibility.enable")
    nodes = [node for node in page.call("Accessibility.getFullAXTree")["nodes"] if not node.get("ignored")]
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
    assert [role for role in roles if role[0] in ("image", "img") and not role[1]] == []
    assert {"main", "navigation", "heading", "table", "columnheader", "rowheader"} <= {role for role, _ in roles}


def test_it_prints(page: Page, tmp_path: Path) -> None:
    page.open(written(tmp_path, FORMS["html"](run_view(**GOODPUT), NOW)))
    content = page.pdf()
    (tmp_path / "report.pdf").write_bytes(content)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run, objects, nodes = made("aws/gb200x5000", tail="NCCL WARN\n" * 400)
    return written(tmp_path_factory.mktemp("large"), FORMS["html"](view(of_simulation(run, objects, nodes)), NOW))


def test_of_two_and_a_half_thousand_groups_only_the_worst_are_laid_out_at_first(
    page: Page, large: Path, tmp_path: Path
) -> None:
    """That is why it scrolls at the screen's own rate: the others wait in parts that are opened when wanted."""
    page.open(large)
    page.screenshot(tmp_path / "top.png", height=1600)
    assert page.evaluate("document.querySelectorAll('#groups tbody tr').length") == 2500
    shown = "[...document.querySelectorAll('tr')].filter(row => !row.closest('details:not([open])')).length"
    assert page.evaluate(shown) < 300
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(shown) > 2500


def test_two_and_a_half_thousand_groups_do_not_print_for_ever(page: Page, large: Path) -> None:
    page.open(large)
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) <= 60


def test_junit_results_are_valid(tmp_path: Path) -> None:
    validator = require(shutil.which("xmllint"), "xmllint")
    run, _, nodes = made()
    begun = view(of_simulation({**run, "status": {}}, [], nodes))
    for index, seen in enumerate((run_view(**GOODPUT), hostile(), begun)):
        file = tmp_path / f"{index}.xml"
        file.write_text(FORMS["junit"](seen, NOW), "utf-8")
        done = subprocess.run(
            [validator, "--noout", "--schema", SCHEMA, file], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
