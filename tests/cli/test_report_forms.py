"""The forms of a report say the same of the same run, hold no text that could do anything, and fit their readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.reporting.document import document
from cli.reporting.formats import FORMS
from cli.reporting.html import style
from cli.reporting.html.bounds import bounds
from cli.reporting.html.setup import HIDDEN, shareable
from cli.reporting.text import print_report
from cli.run_objects import of_simulation
from cli.run_view import RunView, view
from tests.cli.made import made
from tests.cli.terminals import printed

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
HOSTILE = "\x1b[2J<script>alert(1)</script> ]]> \"'& `x` [a](http://evil) |\u202e\x00 @everyone"
GOODPUT = {"goodputMeasurement": {"logProfileRef": "megatron-training"}}


def run_view(**more: Any) -> RunView:
    run, objects, nodes = made(**more)
    return view(of_simulation(run, objects, nodes))


def hostile() -> RunView:
    """A run whose every text from outside tries something."""

    def edit(group: int, job: dict[str, Any]) -> None:
        if group == 3:
            job["status"]["conditions"] = [
                {"type": "Failed", "status": "True", "reason": "WorkloadFailed", "message": HOSTILE}
            ]
            job["status"]["failureLog"] = {"podName": HOSTILE, "nodeName": HOSTILE, "reason": HOSTILE, "tail": HOSTILE}
            job["status"]["attribution"] = "Node"
            job["status"]["failedNodes"] = [{"name": HOSTILE, "reason": "WorkloadFailed", "message": HOSTILE}]

    run, objects, nodes = made(edit=edit)
    run["status"]["verdictReasons"] = [HOSTILE]
    for node in nodes:
        node["metadata"]["labels"]["topology.k8s.aws/network-node-layer-1"] = HOSTILE
    return view(of_simulation(run, objects, nodes))


class Reader(HTMLParser):
    """Reads a page strictly: every element must be closed in its turn."""

    VOID = frozenset({"meta", "br", "col"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


class TestHtml:
    def test_is_well_formed_and_has_every_section(self) -> None:
        reader = read(FORMS["html"](run_view(**GOODPUT), NOW))
        headings = {"map", "nodes", "bandwidth", "goodput", "timeline", "groups", "logs", "setup"}
        assert headings <= {value for name, value in reader.attributes if name == "id"}

    def test_sections_without_anything_to_show_are_left_out(self) -> None:
        run, _, nodes = made()
        page = FORMS["html"](view(of_simulation({**run, "status": {}}, [], nodes)), NOW)
        ids = {value for name, value in read(page).attributes if name == "id"}
        assert ids & {"bandwidth", "goodput", "timeline", "groups", "logs"} == set()

    def test_hostile_text_is_text(self) -> None:
        page = FORMS["html"](hostile(), NOW)
        reader = read(page)
        assert "script" not in reader.tags
        assert not any(name.startswith("on") for name, _ in reader.attributes)
        assert not any(char in page for char in "\x1b\x00\u202e")
        assert any("<script>alert(1)</script>" in text for text in reader.text)

    def test_nothing_is_loaded_and_no_script_may_run(self) -> None:
        page = FORMS["html"](run_view(**GOODPUT), NOW)
        reader = read(page)
        assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in reader.attributes
        links = [value or "" for name, value in reader.attributes if name in ("href", "src", "xlink:href")]
        assert all(link.startswith("#") for link in links)
        assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
        assert "url(http" not in page
        assert "@import" not in page

    def test_every_picture_has_words(self) -> None:
        page = FORMS["html"](run_view(**GOODPUT), NOW)
        pictures = re.findall(r"<svg[^>]*>", page)
        assert pictures
        assert all("aria-label=" in one or 'aria-hidden="true"' in one for one in pictures)

    def test_headings_do_not_skip_a_level(self) -> None:
        levels = [int(tag[1]) for tag in read(FORMS["html"](run_view(), NOW)).tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert all(later <= earlier + 1 for earlier, later in pairwise(levels))

    def test_the_threshold_is_drawn_at_its_place(self) -> None:
        page = FORMS["html"](run_view(), NOW)
        assert "threshold 300" in page
        assert "Required of the largest value of each group: value &gt;= 300." in page

    def test_equal_runs_give_equal_pages(self) -> None:
        assert FORMS["html"](run_view(), NOW) == FORMS["html"](run_view(), NOW)

    def test_secrets_and_contents_of_files_are_not_sent_on(self) -> None:
        spec = {
            "image": "x",
            "env": [{"name": "HF_TOKEN", "value": "abc"}, {"name": "NCCL_DEBUG", "value": "INFO"}],
            "config": {"inline": {"train.yaml": "password: abc"}},
        }
        written = shareable(spec)
        assert "abc" not in str(written)
        assert written["env"] == [{"name": "HF_TOKEN", "value": HIDDEN}, {"name": "NCCL_DEBUG", "value": "INFO"}]

    def test_logs_stay_within_their_budget_and_what_is_left_out_is_said(self) -> None:
        page = FORMS["html"](run_view(nodes="aws/gb200x1440", bad=6, tail="x" * 32_000), NOW)
        assert len(page.encode()) < 5_000_000
        assert re.search(r"The logs of \d+ more groups are left out here", page)


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def texts() -> Iterator[Any]:
    on_paper = {"INK", "QUIET", "FAILED", "INCONCLUSIVE", "EXCLUDED", "PASSED", "RUNNING"}
    for name in sorted(on_paper):
        yield pytest.param(getattr(style, name), style.PAPER, id=f"{name} on paper")
        yield pytest.param(getattr(style, name), style.PANEL, id=f"{name} on a panel")
    for number, colour in enumerate(style.LINES):
        yield pytest.param(colour, style.PAPER, id=f"line {number}")


@pytest.mark.parametrize(("colour", "ground"), list(texts()))
def test_text_stands_out(colour: str, ground: str) -> None:
    assert contrast(colour, ground) >= 4.5  # WCAG 2, level AA


def test_classes_of_the_scale_differ_in_lightness() -> None:
    shades = [luminance(colour) for colour in style.SCALE]
    assert shades == sorted(shades, reverse=True)
    assert all(contrast(one, other) > 1.25 for one, other in pairwise(style.SCALE))


class TestJUnit:
    def test_counts_agree_with_the_cases(self) -> None:
        root = ElementTree.fromstring(FORMS["junit"](run_view(), NOW))
        for suite in root:
            cases = suite.findall("testcase")
            assert int(suite.attrib["tests"]) == len(cases)
            for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                assert int(suite.attrib[key]) == sum(case.find(tag) is not None for case in cases), suite.attrib

    def test_suites_have_what_the_strictest_reader_asks_for_in_its_order(self) -> None:
        root = ElementTree.fromstring(FORMS["junit"](run_view(), NOW))
        assert root.attrib == {}
        for number, suite in enumerate(root):
            assert suite.attrib["id"] == str(number)
            assert {"name", "package", "hostname", "timestamp", "time"} <= set(suite.attrib)
            tags = [one.tag for one in suite]
            assert (tags[0], tags[-2:]) == ("properties", ["system-out", "system-err"])
            assert set(tags[1:-2]) == {"testcase"}
            for case in suite.findall("testcase"):
                assert set(case.attrib) == {"name", "classname", "time"}
                assert len(case) <= 1

    @pytest.mark.parametrize(
        ("verdict", "tag"), [("Passed", None), ("Failed", "failure"), ("Incomplete", "error"), ("", "error")]
    )
    def test_only_passed_is_green(self, verdict: str, tag: str | None) -> None:
        root = ElementTree.fromstring(FORMS["junit"](run_view(verdict=verdict, bad=1000), NOW))
        case = root.find("testsuite[@name='run']/testcase")
        assert case is not None
        assert [one.tag for one in case] == ([tag] if tag else [])

    def test_failures_carry_reason_message_and_log(self) -> None:
        root = ElementTree.fromstring(FORMS["junit"](run_view(tail="ibv_create_qp failed"), NOW))
        failures = [one for one in root.iter("failure") if one.get("type") == "WorkloadFailed" and one.text]
        assert "exited with 3" in failures[0].attrib["message"]
        assert "ibv_create_qp failed" in (failures[0].text or "")

    def test_hostile_text_is_text(self) -> None:
        written = FORMS["junit"](hostile(), NOW)
        assert not any(char in written for char in "\x1b\x00\u202e")
        root = ElementTree.fromstring(written)
        assert any("<script>alert(1)</script>" in (one.get("message") or "") for one in root.iter("failure"))
        assert next(root.iter("script"), None) is None


class TestMarkdown:
    def test_has_verdict_groups_nodes_and_logs(self) -> None:
        written = FORMS["markdown"](run_view(), NOW)
        assert written.startswith("# default/big: ❌ Failed\n")
        for heading in ("## Groups", "## Nodes", "## Log of group 3"):
            assert heading in written

    def test_hostile_text_is_text(self) -> None:
        written = FORMS["markdown"](hostile(), NOW)
        outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1\n", "", written)
        assert "<script>" not in outside
        assert "](http" not in outside
        assert "@everyone" not in outside
        assert not any(char in written for char in "\x1b\x00\u202e")
        rows = [line for line in outside.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows if "gpu-" in line}) <= 2  # two tables

    def test_a_log_cannot_leave_its_block(self) -> None:
        written = FORMS["markdown"](run_view(bad=17, tail="```\n# not a heading\n````"), NOW)
        assert "`````text" in written


class TestNodes:
    def test_are_plain_names_one_a_line(self) -> None:
        assert FORMS["nodes"](run_view(), NOW).splitlines() == ["gpu-0020", "gpu-0022", "gpu-0023"]

    def test_what_is_no_name_of_a_node_is_left_out(self) -> None:
        assert HOSTILE not in FORMS["nodes"](hostile(), NOW)
        assert all(re.fullmatch(r"[a-z0-9.-]+", line) for line in FORMS["nodes"](hostile(), NOW).splitlines())


class TestJson:
    def test_every_targeted_node_is_in_one_list(self) -> None:
        run, objects, nodes = made("aws/gb200x144")
        written = document(run, view(of_simulation(run, objects, nodes)))
        names = [node["name"] for nodes in written["nodes"].values() for node in nodes]
        assert sorted(names) == sorted(node["metadata"]["name"] for node in nodes)

    def test_groups_carry_their_curves_and_logs(self) -> None:
        run, objects, nodes = made("aws/gb200x144")
        written = document(run, view(of_simulation(run, objects, nodes)))
        assert len(written["groups"]) == 72
        assert len(written["groups"][0]["bandwidth"]["results"]) == 32
        assert [group["failureLog"]["exitCode"] for group in written["groups"] if "failureLog" in group] == [3] * 5


class TestText:
    def test_lines_are_whole_where_no_terminal_shows_them(self) -> None:
        long = "a-node-with-a-name-that-is-longer-than-any-terminal-is-wide-" * 3

        def edit(group: int, job: dict[str, Any]) -> None:
            if group == 3:
                job["status"]["conditions"][0]["message"] = long

        run, objects, nodes = made(edit=edit, bad=17)
        run["status"]["verdictReasons"] = [f"node {long} excluded: {long}"]
        out = printed(lambda console: print_report(console, view(of_simulation(run, objects, nodes))))
        assert f"  because node {long} excluded: {long}\n" in out

    def test_hostile_text_never_reaches_the_terminal(self) -> None:
        out = printed(lambda console: print_report(console, hostile()))
        assert not any(char in out for char in "\x1b\x00\u202e")
        assert "\\x1b[2J<script>" in out
        assert "[a](http://evil)" in out  # no markup of the printing library either

    def test_colours_are_for_terminals(self) -> None:
        shown = printed(lambda console: print_report(console, run_view()), terminal=True)
        assert "\x1b[1;31mFailed" in shown
        assert "\x1b" not in printed(lambda console: print_report(console, run_view()))

    def test_ends_of_logs_are_shown(self) -> None:
        out = printed(lambda console: print_report(console, run_view(nodes="aws/gb200x144", tail="first\nlast line")))
        assert "  | last line\n" in out
        assert "exit code 3" in out


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(ANY_TEXT)
@settings(max_examples=60, deadline=None)
def test_whatever_text_a_cluster_holds_every_form_stays_what_it_is(text: str) -> None:
    seen = replace(BASE, status={**BASE.status, "verdictReasons": [text]}, warnings=(text,), notes=(text,))
    page = read(FORMS["html"](seen, NOW))
    assert "script" not in page.tags
    assert page.tags.count("li") == read(FORMS["html"](BASE, NOW)).tags.count("li") + 1 - len(REASONS)
    ElementTree.fromstring(FORMS["junit"](seen, NOW))
    lines = FORMS["markdown"](seen, NOW).splitlines()
    assert sum(line.startswith("#") for line in lines) == sum(
        line.startswith("#") for line in FORMS["markdown"](BASE, NOW).splitlines()
    )
    assert printed(lambda console: print_report(console, seen)).count("\n") == TEXT_LINES + 3 - len(REASONS)


BASE = run_view()
REASONS = BASE.status["verdictReasons"]
TEXT_LINES = printed(lambda console: print_report(console, BASE)).count("\n")


@pytest.mark.parametrize(
    ("expression", "drawn"),
    [
        pytest.param("value >= 300", (300.0,), id="a lower bound"),
        pytest.param("value>=300.5", (300.5,), id="without blanks"),
        pytest.param("300 <= value", (300.0,), id="turned round"),
        pytest.param("value > 100 && value < 1e3", (100.0, 1000.0), id="both bounds"),
        pytest.param("(value >= 300)", (300.0,), id="in brackets"),
        pytest.param("value >= 300 || value == 0", (), id="what is no plain bound is not drawn"),
        pytest.param("value * 2 >= 600", (), id="nor what has to be computed"),
        pytest.param("", (), id="nor nothing"),
    ],
)
def test_bounds_of_a_threshold(expression: str, drawn: tuple[float, ...]) -> None:
    assert bounds({"thresholds": {"busBandwidthGBps": expression}}, "busBandwidthGBps") == drawn
