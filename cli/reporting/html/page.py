"""The page as a whole: verdict and why, coverage, then every section that has something to show.

Nothing is loaded and no script runs: the page says so to the browser itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cli.reporting import wording
from cli.reporting.html.bandwidth import bandwidth
from cli.reporting.html.curves import curves_of
from cli.reporting.html.goodput import goodput
from cli.reporting.html.groups import groups
from cli.reporting.html.heatmap import heat_map
from cli.reporting.html.logs import logs
from cli.reporting.html.markup import Content, Markup, join, tag
from cli.reporting.html.nodes import nodes
from cli.reporting.html.setup import setup
from cli.reporting.html.style import VERDICTS, css
from cli.reporting.html.timeline import timeline
from cli.run_view import RunView

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

Section = tuple[str, str, Markup]
"""Its anchor, its heading, its content."""


def html(run: RunView, now: datetime) -> str:
    """Write the page; ``now`` is when, and the end of groups that still run."""
    sections = list(_sections(run, now))
    title = f"{run.namespace}/{run.name}: {wording.verdict_of(run)}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(css())),
    )
    body = tag("body", _header(run, now), _contents(sections), tag("main", map(_section, sections)), _footer(run, now))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _sections(run: RunView, now: datetime) -> Iterator[Section]:
    curves = curves_of(run)
    if run.nodes:
        yield "map", "Nodes by topology domain", heat_map(run)
        yield "nodes", "Worst nodes first", nodes(run)
    if curves:
        yield "bandwidth", "Bandwidth by message size", bandwidth(run, curves)
    if (written := goodput(run)) is not None:
        yield "goodput", "Goodput", written
    if (written := timeline(run, now)) is not None:
        yield "timeline", "Timeline of the groups", written
    if run.groups:
        yield "groups", "Groups", groups(run, curves, now)
    if (written := logs(run)) is not None:
        yield "logs", "Ends of failing logs", written
    yield "setup", "What was run", setup(run)


def _header(run: RunView, now: datetime) -> Markup:
    verdict = wording.verdict_of(run)
    class_ = f"verdict v-{run.verdict if run.verdict in VERDICTS else 'none'}"
    reasons = run.status.get("verdictReasons") or ()
    return tag(
        "header",
        tag("h1", f"{run.namespace}/{run.name}"),
        tag("p", tag("span", verdict, class_=class_)),
        tag("ul", [tag("li", str(reason)) for reason in reasons], class_="why") if reasons else None,
        _tiles(run),
        [tag("p", line) for line in _facts(run)],
        [tag("p", f"Not known: {note}", class_="note") for note in run.notes],
        [tag("p", f"Note: {warning}", class_="note") for warning in run.warnings],
        tag(
            "p",
            f"Written {now:%Y-%m-%d %H:%M} UTC; the run was created {run.created or 'at an unknown time'}.",
            class_="quiet",
        ),
    )


def _tiles(run: RunView) -> Markup | None:
    coverage, progress = run.status.get("coverage"), run.status.get("progress")
    failed = sum(node.state == "failed" for node in run.nodes)
    tiles: list[tuple[str, str]] = []
    if coverage:
        tiles += [(str(coverage[key]), f"nodes {key}") for key in ("targeted", "tested", "excluded", "inconclusive")]
        tiles.append((str(failed), "nodes failed"))
    if progress:
        tiles.append((f"{progress['succeeded']} of {progress['groups']}", "groups succeeded"))
    for key, found in (run.status.get("results") or {}).items():
        if key in wording.LABELS:
            tiles.append((f"{found['min']:.4g}", f"lowest {wording.LABELS[key]}"))
    return tag("ul", [tag("li", tag("b", value), word) for value, word in tiles], class_="tiles") if tiles else None


def _facts(run: RunView) -> Iterator[str]:
    """Tell what neither the tiles nor the reasons tell."""
    told = ("nodes: ", "groups: ", *(("Failed ", "ValidationFailed ") if run.status.get("verdictReasons") else ()))
    for line in wording.facts(run.status):
        if not line.startswith(told):
            yield line
    yield from wording.results(run.status.get("results") or {})


def _contents(sections: list[Section]) -> Markup:
    links = [tag("li", tag("a", heading, href=f"#{anchor}")) for anchor, heading, _ in sections]
    return tag("nav", tag("ul", links), aria_label="Sections")


def _section(section: Section) -> Content:
    anchor, heading, content = section
    return tag(
        "section", tag("h2", heading, id=f"{anchor}-heading"), content, id=anchor, aria_labelledby=f"{anchor}-heading"
    )


def _footer(run: RunView, now: datetime) -> Markup:
    told = f"workloadrun report of {run.namespace}/{run.name} (uid {run.uid or 'unknown'}), {now:%Y-%m-%dT%H:%M:%SZ}."
    return tag("footer", join(tag("p", told, class_="quiet")))
